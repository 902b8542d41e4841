// A graph from what streams are given: with a fork, replayed; what may not be captured ends it.
#include "driver.h"

enum { GLOBAL, THREAD, RELAXED, UNJOINED = 904, INVALIDATED = 901, UNSUPPORTED = 900, IMPLICIT = 906 };

int main(void) {
  begin();
  CUmodule module = load(HEAD("sm_70") INCREASE);
  CUfunction increase = function_of(module, "increase");
  CUstream stream, side;
  CUevent forked, joined;
  OK(cuStreamCreate(&stream, 1));
  OK(cuStreamCreate(&side, 1));
  OK(cuEventCreate(&forked, 2));
  OK(cuEventCreate(&joined, 2));
  CUdeviceptr x = zeros(128), y = zeros(128);

  int state;
  OK(cuStreamBeginCapture_v2(stream, THREAD));
  OK(cuStreamIsCapturing(stream, &state));
  WANT(state, 1);
  OK(cuMemsetD32Async(x, 10, 32, stream));
  OK(cuEventRecord(forked, stream));
  OK(cuStreamWaitEvent(side, forked, 0));
  OK(cuStreamIsCapturing(side, &state));
  WANT(state, 1);
  OK(launch(increase, 32, x, side));
  OK(launch(increase, 32, y, stream));
  OK(cuEventRecord(joined, side));
  OK(cuStreamWaitEvent(stream, joined, 0));
  OK(cuMemcpyDtoDAsync_v2(y + 64, x, 64, stream));
  CUgraph graph;
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuStreamIsCapturing(side, &state));
  WANT(state, 0);
  WANT(word(y), 0); // nothing has run
  size_t count = 0;
  OK(cuGraphGetNodes(graph, NULL, &count));
  WANT(count, 4);
  CUgraphExec executable;
  OK(cuGraphInstantiateWithFlags(&executable, graph, 0));
  OK(cuGraphDestroy(graph));
  for (int i = 0; i < 3; i++) OK(cuGraphLaunch(executable, stream));
  OK(cuStreamSynchronize(stream));
  for (int i = 0; i < 32; i++) {
    WANT(word(x + 4 * i), 11);
    WANT(word(y + 4 * i), i < 16 ? 3 : 11);
  }

  // A fork that is not joined.
  OK(cuStreamBeginCapture_v2(stream, THREAD));
  OK(cuEventRecord(forked, stream));
  OK(cuStreamWaitEvent(side, forked, 0));
  OK(launch(increase, 32, x, side));
  IS(cuStreamEndCapture(stream, &graph), UNJOINED);
  EXPECT(graph == NULL);
  OK(cuStreamIsCapturing(side, &state));
  WANT(state, 0);
  // To wait for what is not run.
  OK(cuStreamBeginCapture_v2(stream, RELAXED));
  OK(launch(increase, 32, x, stream));
  IS(cuStreamSynchronize(stream), UNSUPPORTED);
  IS(launch(increase, 32, x, stream), INVALIDATED);
  IS(cuStreamEndCapture(stream, &graph), INVALIDATED);
  // The legacy stream would wait for a stream that is captured.
  CUstream blocking;
  OK(cuStreamCreate(&blocking, 0));
  OK(cuStreamBeginCapture_v2(blocking, THREAD));
  OK(launch(increase, 32, x, blocking));
  IS(launch(increase, 32, x, NULL), IMPLICIT);
  CUresult code = cuStreamEndCapture(blocking, &graph);
  EXPECT(code == INVALIDATED);
  IS(cuStreamBeginCapture_v2(NULL, THREAD), UNSUPPORTED);

  OK(launch(increase, 32, x, NULL));
  WANT(word(x), 12);
  OK(cuGraphExecDestroy(executable));
  OK(cuStreamDestroy_v2(blocking));
  OK(cuStreamDestroy_v2(stream));
  OK(cuStreamDestroy_v2(side));
  OK(cuEventDestroy_v2(forked));
  OK(cuEventDestroy_v2(joined));
  OK(cuMemFree_v2(x));
  OK(cuMemFree_v2(y));
  OK(cuModuleUnload(module));
  puts("right");
}
