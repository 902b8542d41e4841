// A buffer that is never given back.
#include "fault.h"
__global__ void fill(int *x) { x[threadIdx.x] = 1; }
int main(int argc, char **argv) {
  int *x = nullptr, *y = filled<int>(32);
  cudaMalloc(&x, 128);  // finds: leak
  fill<<<1, 32>>>(x);
  fill<<<1, 32>>>(y);
  cudaDeviceSynchronize();
  if (is_clean(argc, argv)) cudaFree(x);
  cudaFree(y);
}
