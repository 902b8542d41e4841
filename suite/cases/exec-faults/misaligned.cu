// Four floats at once, from an address that is none of four floats.
#include "fault.h"
__global__ void load(const float *x, float *y, int from) {
  float4 four = *reinterpret_cast<const float4 *>(x + from + 4 * threadIdx.x);  // finds: misaligned
  y[threadIdx.x] = four.x + four.y + four.z + four.w;
}
int main(int argc, char **argv) {
  float *x = filled<float>(64), *y = filled<float>(8);
  load<<<1, 8>>>(x, y, is_clean(argc, argv) ? 4 : 1);
  cudaDeviceSynchronize();
  cudaFree(x), cudaFree(y);
}
