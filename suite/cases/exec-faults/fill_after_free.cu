// Memory is filled after it was given back.
#include "fault.h"
int main(int argc, char **argv) {
  int *x = filled<int>(32);
  bool clean = is_clean(argc, argv);
  if (!clean) cudaFree(x);
  cudaMemset(x, 1, 128);  // finds: oob_global
  if (clean) cudaFree(x);
}
