// What kernels print, and an assertion that fails.
#include "check.h"
#include <cassert>

__global__ void greet(int n) {
  printf("thread %d of %d says %s %.2f\n", int(threadIdx.x), n, "hello", threadIdx.x / 4.0);
}
__global__ void trips(int n) { assert(int(threadIdx.x) < n); }

int main(int argc, char **) {
  greet<<<1, 2>>>(2);
  OK(cudaDeviceSynchronize());
  trips<<<1, 32>>>(32);
  OK(cudaDeviceSynchronize());
  if (argc > 1) {
    trips<<<1, 32>>>(31);
    OK(cudaGetLastError());
    IS(cudaDeviceSynchronize(), cudaErrorAssert);
    // It stays until the card is reset.
    IS(cudaGetLastError(), cudaErrorAssert);
    IS(cudaDeviceSynchronize(), cudaErrorAssert);
    void *x;
    IS(cudaMalloc(&x, 4), cudaErrorAssert);
    OK(cudaDeviceReset());
    OK(cudaMalloc(&x, 4));
    OK(cudaFree(x));
  }
  puts("right");
}
