// Variables of the card by their names: constant, device, static, in a name space.
#include "check.h"

__constant__ float weights[8];
__device__ int counters[4] = {1, 2, 3, 4};
static __device__ double hidden = 2.5;
namespace inner {
__device__ long long wide;
}

__global__ void use(float *out) {
  int i = threadIdx.x;
  out[i] = weights[i % 8] + counters[i % 4] + float(hidden);
  if (i == 0) inner::wide = 1ll << 40;
}

int main() {
  float host[8] = {0, 1, 2, 3, 4, 5, 6, 7}, got[32];
  OK(cudaMemcpyToSymbol(weights, host, sizeof host));
  int two[2] = {30, 40}, all[4];
  OK(cudaMemcpyToSymbol(counters, two, sizeof two, 8));
  OK(cudaMemcpyFromSymbol(all, counters, sizeof all));
  EXPECT(all[0] == 1 && all[1] == 2 && all[2] == 30 && all[3] == 40);
  float *out;
  OK(cudaMalloc(&out, sizeof got));
  use<<<1, 32>>>(out);
  OK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; i++) EXPECT(got[i] == float(i % 8 + all[i % 4]) + 2.5f);
  long long wide;
  OK(cudaMemcpyFromSymbol(&wide, inner::wide, 8));
  EXPECT(wide == 1ll << 40);
  double now = 4;
  cudaStream_t stream;
  OK(cudaStreamCreate(&stream));
  OK(cudaMemcpyToSymbolAsync(hidden, &now, 8, 0, cudaMemcpyHostToDevice, stream));
  use<<<1, 32, 0, stream>>>(out);
  OK(cudaMemcpyAsync(got, out, sizeof got, cudaMemcpyDeviceToHost, stream));
  OK(cudaStreamSynchronize(stream));
  EXPECT(got[1] == 7);
  size_t bytes;
  void *address;
  OK(cudaGetSymbolSize(&bytes, counters));
  OK(cudaGetSymbolAddress(&address, counters));
  EXPECT(bytes == 16);
  OK(cudaMemset(address, 0, bytes));
  OK(cudaMemcpyFromSymbol(all, counters, sizeof all));
  EXPECT(all[0] == 0 && all[3] == 0);
  IS(cudaMemcpyToSymbol(counters, two, 8, 12), cudaErrorInvalidValue);
  int nothing;
  IS(cudaMemcpyToSymbol(&nothing, two, 8), cudaErrorInvalidSymbol);
  IS(cudaGetLastError(), cudaErrorInvalidSymbol);
  OK(cudaStreamDestroy(stream));
  OK(cudaFree(out));
  puts("right");
}
