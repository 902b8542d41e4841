// Memory is given back in the order of one stream while another one still writes it.
#include "fault.h"
__global__ void ramp(int *x) {
  x[threadIdx.x] = threadIdx.x;  // finds: use_after_free
}
int main(int argc, char **argv) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking), cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  int *x;
  cudaMallocAsync(&x, 256, a);
  cudaStreamSynchronize(a);
  if (!is_clean(argc, argv)) cudaFreeAsync(x, b), cudaStreamSynchronize(b);
  ramp<<<1, 64, 0, a>>>(x);
  cudaStreamSynchronize(a);
  if (is_clean(argc, argv)) cudaFreeAsync(x, a);
  cudaDeviceSynchronize();
}
