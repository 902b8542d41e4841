// A copy that counts elements as if each had eight bytes.
#include "fault.h"
int main(int argc, char **argv) {
  static double host[100];
  float *x = filled<float>(100);
  size_t size = is_clean(argc, argv) ? sizeof(float) : sizeof(double);
  cudaMemcpy(x, host, 100 * size, cudaMemcpyHostToDevice);  // finds: oob_global
  cudaFree(x);
}
