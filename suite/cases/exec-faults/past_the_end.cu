// A guard that lets one thread too many through.
#include "fault.h"
__global__ void scale(float *x, int n, bool clean) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (clean ? i < n : i <= n)
    x[i] *= 2;  // finds: oob_global
}
int main(int argc, char **argv) {
  float *x = filled<float>(100);
  scale<<<1, 128>>>(x, 100, is_clean(argc, argv));
  cudaDeviceSynchronize();
  cudaFree(x);
}
