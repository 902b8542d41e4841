// Atomics, barriers, arrays and complex numbers of the C++ library.
#include <cuda/atomic>
#include <cuda/std/array>
#include <cuda/std/complex>
#include <cuda/barrier>
__device__ int storage[4];
extern "C" __global__ void k(int *o, float *f, const int *x) {
  cuda::atomic_ref<int, cuda::thread_scope_device> a(storage[0]);
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ int s[128];
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  s[threadIdx.x] = x[threadIdx.x];
  bar.arrive_and_wait();
  a.fetch_add(s[127 - threadIdx.x], cuda::memory_order_relaxed);
  bar.arrive_and_wait();
  cuda::std::array<int, 4> r{1, 2, 3, 4};
  o[threadIdx.x] = a.load(cuda::memory_order_acquire) + r[threadIdx.x & 3] + s[(threadIdx.x * 7) & 127];
  cuda::std::complex<float> z(threadIdx.x * 0.25f, 1.0f), y = z * z / cuda::std::complex<float>(2.0f, 1.0f);
  f[2 * threadIdx.x] = y.real(); f[2 * threadIdx.x + 1] = y.imag();
}
