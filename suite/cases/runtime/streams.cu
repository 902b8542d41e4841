// Streams, events, callbacks, and copies that do not wait.
#include "check.h"

__global__ void step(int *x, int n, int add) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * 3 + add;
}

void CUDART_CB called(void *data) { ++*static_cast<int *>(data); }
void CUDART_CB told(cudaStream_t, cudaError_t code, void *data) { *static_cast<int *>(data) += code == cudaSuccess ? 10 : 100; }

int main() {
  const int n = 3000;
  cudaStream_t streams[2];
  cudaEvent_t start, middle, end;
  OK(cudaStreamCreate(&streams[0]));
  OK(cudaStreamCreateWithFlags(&streams[1], cudaStreamNonBlocking));
  OK(cudaEventCreate(&start));
  OK(cudaEventCreateWithFlags(&middle, cudaEventDisableTiming));
  OK(cudaEventCreate(&end));
  int *x, *host, calls = 0;
  OK(cudaMalloc(&x, n * 4));
  OK(cudaMallocHost(&host, n * 4));
  for (int i = 0; i < n; i++) host[i] = i;
  OK(cudaEventRecord(start, streams[0]));
  OK(cudaMemcpyAsync(x, host, n * 4, cudaMemcpyHostToDevice, streams[0]));
  step<<<(n + 127) / 128, 128, 0, streams[0]>>>(x, n, 1);
  OK(cudaEventRecord(middle, streams[0]));
  OK(cudaStreamWaitEvent(streams[1], middle, 0));
  step<<<(n + 63) / 64, 64, 0, streams[1]>>>(x, n, 2);
  OK(cudaLaunchHostFunc(streams[1], called, &calls));
  OK(cudaStreamAddCallback(streams[1], told, &calls, 0));
  OK(cudaMemcpyAsync(host, x, n * 4, cudaMemcpyDeviceToHost, streams[1]));
  OK(cudaEventRecord(end, streams[1]));
  OK(cudaEventSynchronize(end));
  OK(cudaStreamSynchronize(streams[1]));
  OK(cudaStreamQuery(streams[0]));
  OK(cudaEventQuery(end));
  EXPECT(calls == 11);
  for (int i = 0; i < n; i++) EXPECT(host[i] == (i * 3 + 1) * 3 + 2);
  float ms = -1;
  OK(cudaEventElapsedTime(&ms, start, end));
  EXPECT(ms >= 0 && ms < 60000);
  IS(cudaEventElapsedTime(&ms, start, middle), cudaErrorInvalidResourceHandle);
  int least, greatest, priority;
  unsigned flags;
  OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  OK(cudaStreamGetPriority(streams[0], &priority));
  OK(cudaStreamGetFlags(streams[1], &flags));
  EXPECT(priority == 0 && flags == cudaStreamNonBlocking);
  for (auto stream : streams) OK(cudaStreamDestroy(stream));
  for (auto event : {start, middle, end}) OK(cudaEventDestroy(event));
  IS(cudaStreamSynchronize(streams[0]), cudaErrorInvalidResourceHandle);
  OK(cudaFree(x));
  OK(cudaFreeHost(host));
  puts("right");
}
