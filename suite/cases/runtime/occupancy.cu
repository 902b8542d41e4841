// What kernels say of themselves, blocks that fit, more shared memory on request, properties of the card.
#include "check.h"

__global__ void __launch_bounds__(256) bounded(float *x) { x[threadIdx.x] = 1; }

__global__ void big(int *out, int n) {
  extern __shared__ int words[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) words[i] = i;
  __syncthreads();
  int sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += words[n - 1 - i];
  atomicAdd(out, sum);
}

__global__ void still(int *out) {
  __shared__ int four[1024];
  four[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = four[blockDim.x - 1 - threadIdx.x];
}

int main() {
  cudaDeviceProp card;
  OK(cudaGetDeviceProperties(&card, 0));
  EXPECT(card.major * 10 + card.minor >= 80 && card.warpSize == 32 && card.maxThreadsPerBlock == 1024);
  EXPECT(card.unifiedAddressing && card.managedMemory && card.cooperativeLaunch && card.multiProcessorCount > 0);
  EXPECT(strlen(card.name) > 3 && card.totalGlobalMem > 1 << 20 && card.sharedMemPerBlock == 48 << 10);
  int value;
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  EXPECT(size_t(value) == card.sharedMemPerBlockOptin && value > 48 << 10);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  EXPECT(value == card.multiProcessorCount);
  cudaFuncAttributes at;
  OK(cudaFuncGetAttributes(&at, bounded));
  EXPECT(at.maxThreadsPerBlock == 256 && at.sharedSizeBytes == 0);
  OK(cudaFuncGetAttributes(&at, still));
  EXPECT(at.maxThreadsPerBlock == 1024 && at.sharedSizeBytes == 4096);
  int grid, block, blocks;
  OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, bounded));
  EXPECT(block >= 32 && block <= 256 && grid >= card.multiProcessorCount);
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, still, 1024, 0));
  EXPECT(blocks == card.maxThreadsPerMultiProcessor / 1024);

  int *out, sum = 0;
  OK(cudaMalloc(&out, 4096));
  OK(cudaMemset(out, 0, 4096));
  const int bytes = 64 << 10, n = bytes / 4;
  big<<<1, 128, bytes>>>(out, n);
  IS(cudaGetLastError(), cudaErrorInvalidValue);
  OK(cudaFuncSetAttribute(big, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  big<<<1, 128, bytes>>>(out, n);
  OK(cudaGetLastError());
  OK(cudaMemcpy(&sum, out, 4, cudaMemcpyDeviceToHost));
  EXPECT(sum == n / 2 * (n - 1));
  OK(cudaFuncSetCacheConfig(still, cudaFuncCachePreferShared));
  still<<<1, 100>>>(out);
  std::vector<int> back(100);
  OK(cudaMemcpy(back.data(), out, 400, cudaMemcpyDeviceToHost));
  EXPECT(back[0] == 99 && back[99] == 0);
  OK(cudaFree(out));
  puts("right");
}
