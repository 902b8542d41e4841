// The host copies what a kernel on a stream of its own may still be writing.
#include "fault.h"
__global__ void fill(int *x) {
  x[blockIdx.x * blockDim.x + threadIdx.x] = 1;  // finds: race_global
}
int main(int argc, char **argv) {
  static int host[4096];
  cudaStream_t own;
  // The null stream does not wait for such a one.
  cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  int *x = filled<int>(4096);
  cudaDeviceSynchronize();
  fill<<<4, 1024, 0, own>>>(x);
  if (is_clean(argc, argv)) cudaStreamSynchronize(own);
  cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
  cudaDeviceSynchronize();
  cudaStreamDestroy(own);
  cudaFree(x);
}
