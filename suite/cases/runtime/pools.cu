// Memory in the order of streams; launches with attributes; clusters where the card has them; functions of the driver.
#include "check.h"
#include <cooperative_groups.h>
#include <cuda.h>
namespace cg = cooperative_groups;

__global__ void ramp(int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = i;
}

__global__ void neighbours(int *x) {
#if __CUDA_ARCH__ >= 900
  __shared__ int own;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) own = blockIdx.x * 10;
  cluster.sync();
  unsigned other = cluster.block_rank() ^ 1;
  if (threadIdx.x == 0) x[blockIdx.x] = *cluster.map_shared_rank(&own, other);
  cluster.sync();
#else
  if (threadIdx.x == 0) x[blockIdx.x] = (blockIdx.x ^ 1) * 10;
#endif
}

int main() {
  cudaStream_t stream;
  OK(cudaStreamCreate(&stream));
  int *x, n = 500;
  std::vector<int> host(n);
  for (int run = 0; run < 3; run++) {
    OK(cudaMallocAsync(&x, n * 4, stream));
    ramp<<<4, 128, 0, stream>>>(x, n);
    OK(cudaMemcpyAsync(host.data(), x, n * 4, cudaMemcpyDeviceToHost, stream));
    OK(cudaFreeAsync(x, stream));
    OK(cudaStreamSynchronize(stream));
    for (int i = 0; i < n; i++) EXPECT(host[i] == i);
  }
  cudaMemPool_t pool;
  OK(cudaDeviceGetDefaultMemPool(&pool, 0));
  uint64_t keep = ~0ull;
  OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
  OK(cudaMallocFromPoolAsync(&x, 64, pool, stream));
  OK(cudaStreamSynchronize(stream));

  cudaDeviceProp card;
  OK(cudaGetDeviceProperties(&card, 0));
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 2, attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(8), config.blockDim = dim3(32), config.stream = stream;
  config.attrs = &attribute, config.numAttrs = card.clusterLaunch ? 1 : 0;
  OK(cudaLaunchKernelEx(&config, neighbours, x));
  OK(cudaMemcpyAsync(host.data(), x, 32, cudaMemcpyDeviceToHost, stream));
  OK(cudaStreamSynchronize(stream));
  for (int i = 0; i < 8; i++) EXPECT(host[i] == (i ^ 1) * 10);
  OK(cudaFreeAsync(x, stream));
  OK(cudaStreamDestroy(stream));

  // The driver's own function by its name, and a kernel as its handle.
  void *address = nullptr;
  cudaDriverEntryPointQueryResult found;
  OK(cudaGetDriverEntryPointByVersion("cuFuncGetAttribute", &address, 12000, cudaEnableDefault, &found));
  EXPECT(address && found == cudaDriverEntryPointSuccess);
  cudaFunction_t function;
  OK(cudaGetFuncBySymbol(&function, reinterpret_cast<const void *>(ramp)));
  int threads = 0;
  auto get = reinterpret_cast<CUresult (*)(int *, CUfunction_attribute, CUfunction)>(address);
  EXPECT(get(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, reinterpret_cast<CUfunction>(function)) == CUDA_SUCCESS && threads == 1024);
  puts("right");
}
