// Templates, dynamic shared memory, atomics, shuffles.
#include "check.h"

template <typename T, int THREADS>
__global__ void sum(const T *in, T *out, int n) {
  extern __shared__ char bytes[];
  T *part = reinterpret_cast<T *>(bytes);
  T mine = 0;
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) mine += in[i];
  part[threadIdx.x] = mine;
  __syncthreads();
  for (int step = THREADS / 2; step >= 32; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x < 32) {
    T lane = part[threadIdx.x];
    for (int step = 16; step > 0; step /= 2) lane += __shfl_down_sync(~0u, lane, step);
    if (threadIdx.x == 0) atomicAdd(out, lane);
  }
}

template <typename T>
void check(int n) {
  std::vector<T> host(n);
  T want = 0, got = 0;
  for (int i = 0; i < n; i++) want += host[i] = T(i % 17);
  T *in, *out;
  OK(cudaMalloc(&in, n * sizeof(T)));
  OK(cudaMalloc(&out, sizeof(T)));
  OK(cudaMemcpy(in, host.data(), n * sizeof(T), cudaMemcpyHostToDevice));
  OK(cudaMemset(out, 0, sizeof(T)));
  sum<T, 128><<<7, 128, 128 * sizeof(T)>>>(in, out, n);
  OK(cudaPeekAtLastError());
  OK(cudaMemcpy(&got, out, sizeof(T), cudaMemcpyDeviceToHost));
  EXPECT(got == want);
  OK(cudaFree(in));
  OK(cudaFree(out));
}

int main() {
  check<int>(10001);
  check<float>(3000);
  check<double>(129);
  check<unsigned long long>(1);
  puts("right");
}
