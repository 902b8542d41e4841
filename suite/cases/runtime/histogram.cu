// Bins in shared memory, added to bins in global memory; page-locked memory of the host.
#include "check.h"

__global__ void count(const unsigned char *bytes, int n, unsigned *bins) {
  __shared__ unsigned own[256];
  for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) own[bin] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[bytes[i]], 1);
  __syncthreads();
  for (int bin = threadIdx.x; bin < 256; bin += blockDim.x)
    if (own[bin]) atomicAdd(&bins[bin], own[bin]);
}

int main() {
  const int n = 20000;
  unsigned char *host, *mapped;
  OK(cudaMallocHost(&host, n));
  OK(cudaHostAlloc(&mapped, n, cudaHostAllocMapped));
  unsigned want[256] = {}, got[256];
  for (int i = 0; i < n; i++) want[host[i] = mapped[i] = (i * i) >> 3]++;
  unsigned char *bytes;
  unsigned *bins;
  OK(cudaMalloc(&bytes, n));
  OK(cudaMalloc(&bins, sizeof want));
  OK(cudaMemcpyAsync(bytes, host, n, cudaMemcpyHostToDevice));
  OK(cudaMemsetAsync(bins, 0, sizeof want));
  count<<<4, 96>>>(bytes, n, bins);
  OK(cudaMemcpy(got, bins, sizeof got, cudaMemcpyDeviceToHost));
  EXPECT(!memcmp(want, got, sizeof got));
  // The kernel reads memory of the host.
  unsigned char *there;
  OK(cudaHostGetDevicePointer(&there, mapped, 0));
  count<<<3, 64>>>(there, n, bins);
  OK(cudaMemcpy(got, bins, sizeof got, cudaMemcpyDeviceToHost));
  for (int bin = 0; bin < 256; bin++) EXPECT(got[bin] == 2 * want[bin]);
  OK(cudaFreeHost(host));
  OK(cudaFreeHost(mapped));
  OK(cudaFree(bytes));
  OK(cudaFree(bins));
  puts("right");
}
