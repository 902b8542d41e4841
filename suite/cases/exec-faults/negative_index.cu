// A stencil that reads the left neighbour of the first element.
#include "fault.h"
__global__ void left(const int *x, int *y, bool clean) {
  int i = threadIdx.x;
  int first = clean ? 1 : 0;
  if (i >= first)
    y[i] = x[i - 1];  // finds: oob_global
}
int main(int argc, char **argv) {
  int *x = filled<int>(64), *y = filled<int>(64);
  left<<<1, 64>>>(x, y, is_clean(argc, argv));
  cudaDeviceSynchronize();
  cudaFree(x), cudaFree(y);
}
