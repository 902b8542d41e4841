// Things that go while they are in use: a module with its kernels still running, memory, events, graphs.
#include "driver.h"

int main(void) {
  begin();
  CUstream stream;
  OK(cuStreamCreate(&stream, 1));
  unsigned *gate;
  OK(cuMemHostAlloc((void **)&gate, 4, 2));
  CUdeviceptr x = zeros(128);
  for (int round = 0; round < 4; round++) {
    CUmodule module = load(HEAD("sm_70") INCREASE SLOW);
    OK(launch(function_of(module, "slow"), 1, x, stream));
    for (int i = 0; i < 8; i++) OK(launch(function_of(module, "increase"), 32, x, stream));
    OK(cuModuleUnload(module));
    OK(cuStreamSynchronize(stream));
    WANT(word(x), 200008);
    WANT(word(x + 4), 8 * (round + 1));
  }

  // Memory that a launch in the queue uses is freed after it.
  CUmodule module = load(HEAD("sm_70") INCREASE SLOW);
  CUdeviceptr y = zeros(128);
  OK(launch(function_of(module, "slow"), 1, x, stream));
  OK(launch(function_of(module, "increase"), 32, y, stream));
  OK(cuMemcpyDtoDAsync_v2(x, y, 128, stream));
  OK(cuMemFree_v2(y));
  OK(cuStreamSynchronize(stream));
  WANT(word(x + 124), 1);

  // A graph that is running.
  CUgraph graph;
  CUgraphExec executable;
  OK(cuStreamBeginCapture_v2(stream, 0));
  OK(launch(function_of(module, "slow"), 1, x, stream));
  OK(launch(function_of(module, "increase"), 32, x, stream));
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuGraphInstantiateWithFlags(&executable, graph, 0));
  OK(cuGraphLaunch(executable, stream));
  OK(cuGraphExecDestroy(executable));
  OK(cuGraphDestroy(graph));
  OK(cuStreamSynchronize(stream));
  WANT(word(x), 200001);
  WANT(word(x + 4), 2);
  OK(cuStreamDestroy_v2(stream));
  OK(cuMemFreeHost(gate));
  OK(cuMemFree_v2(x));
  OK(cuModuleUnload(module));
  puts("right");
}
