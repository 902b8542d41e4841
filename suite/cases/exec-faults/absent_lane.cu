// A reduction of half a warp takes from lanes that do not take part.
#include "fault.h"
__global__ void sum(int *out, int from) {
  int t = threadIdx.x, value = t;
  if (t < 16) {
    for (int step = from; step > 0; step /= 2) value += __shfl_down_sync(0xffffu, value, step, 32);
    if (t == 0) out[0] = value;  // finds: shfl_inactive
  }
}
int main(int argc, char **argv) {
  int *out = filled<int>(32);
  sum<<<1, 32>>>(out, is_clean(argc, argv) ? 8 : 16);
  cudaDeviceSynchronize();
  cudaFree(out);
}
