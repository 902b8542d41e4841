// The upper half of a tile is read and never written.
#include "fault.h"
__global__ void mirror(int *out, bool clean) {
  __shared__ int tile[64];
  int t = threadIdx.x;
  if (clean || t < 32) tile[t] = t;
  __syncthreads();
  out[t] = tile[63 - t] + 1;  // finds: uninit_shared
}
int main(int argc, char **argv) {
  int *out = filled<int>(64);
  mirror<<<1, 64>>>(out, is_clean(argc, argv));
  cudaDeviceSynchronize();
  cudaFree(out);
}
