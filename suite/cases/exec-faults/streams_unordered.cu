// A second stream reads what the first still writes.
#include "fault.h"
__global__ void fill(int *x, int value) { x[threadIdx.x] = value; }
__global__ void use(const int *x, int *y) {
  y[threadIdx.x] = x[threadIdx.x];  // finds: race_global
}
int main(int argc, char **argv) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking), cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  cudaEvent_t done;
  cudaEventCreate(&done);
  int *x = filled<int>(64), *y = filled<int>(64);
  cudaDeviceSynchronize();
  fill<<<1, 64, 0, a>>>(x, 1);
  cudaEventRecord(done, a);
  if (is_clean(argc, argv)) cudaStreamWaitEvent(b, done, 0);
  use<<<1, 64, 0, b>>>(x, y);
  cudaDeviceSynchronize();
  cudaFree(x), cudaFree(y);
}
