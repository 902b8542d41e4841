// Memory of the card that nobody has written is read.
#include "fault.h"
__global__ void add(const float *x, float *y) {
  y[threadIdx.x] += x[threadIdx.x];  // finds: uninit_global
}
int main(int argc, char **argv) {
  float *x = card<float>(64), *y = filled<float>(64);
  if (is_clean(argc, argv)) cudaMemset(x, 0, 256);
  add<<<1, 64>>>(x, y);
  cudaDeviceSynchronize();
  cudaFree(x), cudaFree(y);
}
