// A shuffle of the whole warp names only half of its lanes.
#include "fault.h"
__global__ void sum(int *out, bool clean) {
  int t = threadIdx.x, value = t;
  unsigned mask = clean ? ~0u : 0xffffu;
  value += __shfl_xor_sync(mask, value, 8);  // finds: mask
  out[t] = value;
}
int main(int argc, char **argv) {
  int *out = filled<int>(32);
  sum<<<1, 32>>>(out, is_clean(argc, argv));
  cudaDeviceSynchronize();
  cudaFree(out);
}
