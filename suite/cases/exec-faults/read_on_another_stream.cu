// One stream writes, another copies to the host; an event between them is forgotten.
#include "fault.h"
__global__ void fill(int *x) {
  x[threadIdx.x] = 1;  // finds: race_global
}
int main(int argc, char **argv) {
  int *host = nullptr, *x = filled<int>(256);
  cudaStream_t one, two;
  cudaEvent_t filled_it;
  cudaMallocHost(&host, 1024);
  cudaStreamCreate(&one), cudaStreamCreate(&two), cudaEventCreate(&filled_it);
  cudaDeviceSynchronize();
  fill<<<1, 256, 0, one>>>(x);
  cudaEventRecord(filled_it, one);
  if (is_clean(argc, argv)) cudaStreamWaitEvent(two, filled_it, 0);
  cudaMemcpyAsync(host, x, 1024, cudaMemcpyDeviceToHost, two);
  cudaDeviceSynchronize();
  cudaStreamDestroy(one), cudaStreamDestroy(two), cudaEventDestroy(filled_it);
  cudaFreeHost(host), cudaFree(x);
}
