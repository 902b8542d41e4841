// nvcc: --default-stream per-thread
// Threads of the host, each with a default stream of its own.
#include "check.h"
#include <thread>

__global__ void work(int *x, int n, int value) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = x[i] * 2 + value;
}

int main() {
  const int n = 1000, threads = 4;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; t++)
    all.emplace_back([t] {
      int *x;
      std::vector<int> host(n, t);
      OK(cudaMalloc(&x, n * 4));
      for (int run = 0; run < 5; run++) {
        OK(cudaMemcpyAsync(x, host.data(), n * 4, cudaMemcpyHostToDevice));
        work<<<1, 64>>>(x, n, t);
        work<<<1, 64>>>(x, n, 1);
        OK(cudaMemcpyAsync(host.data(), x, n * 4, cudaMemcpyDeviceToHost));
        OK(cudaStreamSynchronize(0));
      }
      int want = t;
      for (int run = 0; run < 5; run++) want = (want * 2 + t) * 2 + 1;
      for (int value : host) EXPECT(value == want);
      OK(cudaFree(x));
      OK(cudaGetLastError());
    });
  for (auto &thread : all) thread.join();
  puts("right");
}
