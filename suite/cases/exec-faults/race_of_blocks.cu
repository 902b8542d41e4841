// Blocks add to one place without an atomic.
#include "fault.h"
__global__ void count(int *total, bool clean) {
  if (threadIdx.x == 0) {
    if (clean)
      atomicAdd(total, blockIdx.x);
    else
      *total += blockIdx.x;  // finds: race_global
  }
}
int main(int argc, char **argv) {
  int *total = filled<int>(1);
  count<<<8, 32>>>(total, is_clean(argc, argv));
  cudaDeviceSynchronize();
  cudaFree(total);
}
