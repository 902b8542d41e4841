// An assertion that does not hold for the last thread.
#include "fault.h"
#include <cassert>
__global__ void check(const int *x, int n) {
  assert(x[threadIdx.x] == 0 && int(threadIdx.x) < n);  // finds: assert
}
int main(int argc, char **argv) {
  int *x = filled<int>(32);
  check<<<1, 32>>>(x, is_clean(argc, argv) ? 32 : 31);
  cudaDeviceSynchronize();
  if (is_clean(argc, argv)) cudaFree(x);
}
