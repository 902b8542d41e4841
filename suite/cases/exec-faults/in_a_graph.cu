// A kernel of a graph writes past the end when the graph is launched.
#include "fault.h"
__global__ void ramp(int *x, int n) {
  int i = threadIdx.x;
  if (i < n) x[i] = i;  // finds: oob_global
}
int main(int argc, char **argv) {
  int *x = filled<int>(30);
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamCreate(&stream);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  ramp<<<1, 64, 0, stream>>>(x, is_clean(argc, argv) ? 30 : 32);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, stream);
  cudaStreamSynchronize(stream);
  cudaGraphExecDestroy(exec), cudaGraphDestroy(graph);
  cudaFree(x);
}
