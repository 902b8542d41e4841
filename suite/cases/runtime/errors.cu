// Failures: their codes, names and texts; which are kept, and for how long.
#include "check.h"
#include <string>
#include <thread>

__global__ void store(int *x) { x[threadIdx.x] = 7; }

int main() {
  int count = 0, card = -1, version = 0, driver = 0;
  OK(cudaGetDeviceCount(&count));
  OK(cudaGetDevice(&card));
  OK(cudaRuntimeGetVersion(&version));
  OK(cudaDriverGetVersion(&driver));
  EXPECT(count == 1 && card == 0 && version / 1000 == CUDART_VERSION / 1000 && driver >= version);
  IS(cudaSetDevice(count), cudaErrorInvalidDevice);
  IS(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  std::thread([] { OK(cudaPeekAtLastError()); }).join();
  IS(cudaGetLastError(), cudaErrorInvalidDevice);
  OK(cudaGetLastError());
  EXPECT(std::string(cudaGetErrorName(cudaErrorInvalidValue)) == "cudaErrorInvalidValue");
  EXPECT(std::string(cudaGetErrorString(cudaErrorInvalidValue)) == "invalid argument");
  EXPECT(std::string(cudaGetErrorString(cudaErrorMemoryAllocation)) == "out of memory");
  EXPECT(std::string(cudaGetErrorName(cudaError_t(12345))) == "unrecognized error code");

  int *x;
  IS(cudaMalloc(&x, size_t(1) << 50), cudaErrorMemoryAllocation);
  IS(cudaMalloc<int>(nullptr, 4), cudaErrorInvalidValue);
  OK(cudaMalloc(&x, 0));
  EXPECT(!x);
  OK(cudaMalloc(&x, 128));
  IS(cudaFree(x + 1), cudaErrorInvalidValue);
  cudaGetLastError();
  store<<<1, 0>>>(x);
  IS(cudaGetLastError(), cudaErrorInvalidConfiguration);
  store<<<1, 1025>>>(x);
  IS(cudaGetLastError(), cudaErrorInvalidConfiguration);
  store<<<dim3(1, 70000), 1>>>(x);
  IS(cudaGetLastError(), cudaErrorInvalidConfiguration);
  store<<<1, 32, 1 << 20>>>(x);
  IS(cudaGetLastError(), cudaErrorInvalidValue);
  int own;
  void *args[] = {&x};
  IS(cudaLaunchKernel(&own, dim3(1), dim3(1), args, 0, 0), cudaErrorInvalidDeviceFunction);
  IS(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
  IS(cudaStreamSynchronize(reinterpret_cast<cudaStream_t>(0x1234560)), cudaErrorInvalidResourceHandle);
  cudaChannelFormatDesc texel = cudaCreateChannelDesc<float4>();
  EXPECT(texel.x == 32 && texel.w == 32 && texel.f == cudaChannelFormatKindFloat);
  cudaIpcMemHandle_t shared;
  IS(cudaIpcGetMemHandle(&shared, x), cudaErrorNotSupported);
  cudaGetLastError();
  // All is well again.
  store<<<1, 32>>>(x);
  OK(cudaGetLastError());
  int got[32];
  OK(cudaMemcpy(got, x, 128, cudaMemcpyDeviceToHost));
  EXPECT(got[31] == 7);
  OK(cudaFree(x));
  IS(cudaFree(x), cudaErrorInvalidValue);
  // Everything goes, and can be had anew.
  OK(cudaMalloc(&x, 128));
  OK(cudaFree(x));
  OK(cudaDeviceReset());
  OK(cudaMalloc(&x, 128));
  store<<<1, 32>>>(x);
  OK(cudaDeviceSynchronize());
  OK(cudaFree(x));
  puts("right");
}
