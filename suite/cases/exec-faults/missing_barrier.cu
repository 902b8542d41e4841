// A reduction that does not wait between its steps.
#include "fault.h"
__global__ void sum(const int *x, int *out, bool clean) {
  __shared__ int part[128];
  int t = threadIdx.x;
  part[t] = x[t];
  __syncthreads();
  for (int step = 64; step > 0; step /= 2) {
    if (t < step)
      part[t] += part[t + step];  // finds: race_shared
    if (clean) __syncthreads();
  }
  if (t == 0) *out = part[0];
}
int main(int argc, char **argv) {
  int *x = filled<int>(128), *out = filled<int>(1);
  sum<<<1, 128>>>(x, out, is_clean(argc, argv));
  cudaDeviceSynchronize();
  cudaFree(x), cudaFree(out);
}
