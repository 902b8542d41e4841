// Lanes of a warp hand values over without waiting for each other.
#include "fault.h"
__global__ void shift(int *out, bool clean) {
  __shared__ int lane[32];
  int t = threadIdx.x;
  lane[t] = t;
  if (clean) __syncwarp();
  out[t] = lane[(t + 1) % 32];  // finds: race_shared
}
int main(int argc, char **argv) {
  int *out = filled<int>(32);
  shift<<<1, 32>>>(out, is_clean(argc, argv));
  cudaDeviceSynchronize();
  cudaFree(out);
}
