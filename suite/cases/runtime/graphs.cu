// Graphs: captured from two streams, built by hand, changed, updated.
#include "check.h"

__global__ void add(int *x, int n, int value) {
  int i = threadIdx.x;
  if (i < n) x[i] += value;
}
__global__ void join(int *x, const int *y, int n) {
  int i = threadIdx.x;
  if (i < n) x[i] = x[i] * 1000 + y[i];
}

void CUDART_CB called(void *data) { ++*static_cast<int *>(data); }

int main() {
  const int n = 50;
  int *x, *y, host[n], calls = 0;
  OK(cudaMalloc(&x, n * 4));
  OK(cudaMalloc(&y, n * 4));
  cudaStream_t a, b;
  cudaEvent_t fork, done;
  OK(cudaStreamCreate(&a));
  OK(cudaStreamCreate(&b));
  OK(cudaEventCreate(&fork));
  OK(cudaEventCreate(&done));
  OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
  OK(cudaMemsetAsync(x, 0, n * 4, a));
  OK(cudaEventRecord(fork, a));
  OK(cudaStreamWaitEvent(b, fork, 0));
  OK(cudaMemsetAsync(y, 0, n * 4, b));
  add<<<1, 64, 0, a>>>(x, n, 3);
  add<<<1, 64, 0, b>>>(y, n, 4);
  OK(cudaEventRecord(done, b));
  OK(cudaStreamWaitEvent(a, done, 0));
  join<<<1, 64, 0, a>>>(x, y, n);
  OK(cudaMemcpyAsync(host, x, n * 4, cudaMemcpyDeviceToHost, a));
  cudaStreamCaptureStatus state;
  OK(cudaStreamIsCapturing(b, &state));
  EXPECT(state == cudaStreamCaptureStatusActive);
  cudaGraph_t graph;
  OK(cudaStreamEndCapture(a, &graph));
  size_t nodes = 0, roots = 0;
  OK(cudaGraphGetNodes(graph, nullptr, &nodes));
  OK(cudaGraphGetRootNodes(graph, nullptr, &roots));
  EXPECT(nodes == 6 && roots == 1);
  cudaGraphExec_t exec;
  OK(cudaGraphInstantiate(&exec, graph, 0));
  for (int run = 0; run < 3; run++) {
    memset(host, 0, sizeof host);
    OK(cudaGraphLaunch(exec, a));
    OK(cudaStreamSynchronize(a));
    for (int value : host) EXPECT(value == 3004);
  }

  // By hand: fill, kernel, call; then the kernel gets another argument.
  cudaGraph_t hand;
  cudaGraphNode_t fill, kernel, call, copy;
  OK(cudaGraphCreate(&hand, 0));
  cudaMemsetParams set = {};
  set.dst = y, set.value = 1, set.elementSize = 4, set.width = n, set.height = 1;
  OK(cudaGraphAddMemsetNode(&fill, hand, nullptr, 0, &set));
  int count = n, value = 5;
  void *args[] = {&y, &count, &value};
  cudaKernelNodeParams launch = {};
  launch.func = reinterpret_cast<void *>(add);
  launch.gridDim = dim3(1), launch.blockDim = dim3(64), launch.kernelParams = args;
  OK(cudaGraphAddKernelNode(&kernel, hand, &fill, 1, &launch));
  cudaHostNodeParams host_call = {called, &calls};
  OK(cudaGraphAddHostNode(&call, hand, &kernel, 1, &host_call));
  OK(cudaGraphAddMemcpyNode1D(&copy, hand, &kernel, 1, host, y, n * 4, cudaMemcpyDeviceToHost));
  cudaKernelNodeParams read;
  OK(cudaGraphKernelNodeGetParams(kernel, &read));
  EXPECT(read.func == reinterpret_cast<void *>(add) && read.blockDim.x == 64 && *static_cast<int *>(read.kernelParams[2]) == 5);
  cudaGraphExec_t ready;
  OK(cudaGraphInstantiate(&ready, hand, 0));
  OK(cudaGraphLaunch(ready, a));
  OK(cudaStreamSynchronize(a));
  for (int got : host) EXPECT(got == 6);
  value = 70;
  OK(cudaGraphExecKernelNodeSetParams(ready, kernel, &launch));
  OK(cudaGraphLaunch(ready, b));
  OK(cudaStreamSynchronize(b));
  for (int got : host) EXPECT(got == 71);
  EXPECT(calls == 2);
  value = 9;
  OK(cudaGraphKernelNodeSetParams(kernel, &launch));
  cudaGraphExecUpdateResultInfo info;
  OK(cudaGraphExecUpdate(ready, hand, &info));
  OK(cudaGraphLaunch(ready, b));
  OK(cudaStreamSynchronize(b));
  for (int got : host) EXPECT(got == 10);
  IS(cudaGraphExecUpdate(ready, graph, &info), cudaErrorGraphExecUpdateFailure);
  for (auto made : {exec, ready}) OK(cudaGraphExecDestroy(made));
  for (auto made : {graph, hand}) OK(cudaGraphDestroy(made));
  OK(cudaStreamDestroy(a));
  OK(cudaStreamDestroy(b));
  OK(cudaEventDestroy(fork));
  OK(cudaEventDestroy(done));
  OK(cudaFree(x));
  OK(cudaFree(y));
  puts("right");
}
