// A tile of dynamic shared memory that is a row too small.
#include "fault.h"
__global__ void turn(int *out) {
  extern __shared__ int tile[];
  int t = threadIdx.x;
  tile[t] = t;  // finds: oob_shared
  __syncthreads();
  out[t] = tile[t ^ 1];
}
int main(int argc, char **argv) {
  int *out = filled<int>(64);
  turn<<<1, 64, is_clean(argc, argv) ? 256 : 252>>>(out);
  cudaDeviceSynchronize();
  cudaFree(out);
}
