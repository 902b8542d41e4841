// A stack of a thread that is one too small.
#include "fault.h"
__global__ void reverse(int *x, int n, int depth) {
  int stack[8];
  for (int i = 0; i < depth; i++)
    stack[i] = x[i];  // finds: oob_local
  int sum = 0;
  for (int i = 0; i < 8; i++) sum = sum * 3 + stack[(i + n) % 8];
  x[0] = sum;
}
int main(int argc, char **argv) {
  int *x = filled<int>(16);
  reverse<<<1, 1>>>(x, 3, is_clean(argc, argv) ? 8 : 9);
  cudaDeviceSynchronize();
  cudaFree(x);
}
