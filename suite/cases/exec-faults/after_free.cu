// A kernel gets memory that was given back.
#include "fault.h"
__global__ void fill(int *x) {
  x[threadIdx.x] = 1;  // finds: use_after_free
}
int main(int argc, char **argv) {
  int *x = filled<int>(32);
  bool clean = is_clean(argc, argv);
  if (!clean) cudaFree(x);
  fill<<<1, 32>>>(x);
  cudaDeviceSynchronize();
  if (clean) cudaFree(x);
}
