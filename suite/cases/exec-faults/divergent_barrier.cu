// Threads of one warp wait at a barrier that others of it go around.
#include "fault.h"
__global__ void pass(int *x, int n, bool clean) {
  int t = threadIdx.x;
  if (!clean && t % 2 && t >= n) {
    x[t] = -1;
  } else {
    __syncthreads();  // finds: barrier_divergence deadlock
    if (t < n) x[t] = t;
  }
  x[t] += n;
}
int main(int argc, char **argv) {
  int *x = filled<int>(64);
  pass<<<1, 64>>>(x, 40, is_clean(argc, argv));
  cudaDeviceSynchronize();
  cudaFree(x);
}
