// A copy of rows that has one row more than the memory of the card.
#include "fault.h"
int main(int argc, char **argv) {
  static char host[9][64];
  char *x;
  size_t pitch;
  cudaMallocPitch(&x, &pitch, 64, 8);
  int rows = is_clean(argc, argv) ? 8 : 9;
  cudaMemcpy2D(x, pitch, host, 64, 64, rows, cudaMemcpyHostToDevice);  // finds: oob_global
  cudaFree(x);
}
