// A graph made node by node: fill, kernels, a copy, a function of the host; asked about, changed, launched.
#include "driver.h"

static void add_thousand(void *data) { *(unsigned *)data += 1000; }

int main(void) {
  enum { KERNEL = 0, COPY = 1, FILL = 2, CALL = 3, EMPTY = 5 };
  CUcontext context = begin();
  CUmodule module = load(HEAD("sm_70") INCREASE);
  CUdeviceptr x = zeros(128), y = zeros(128);
  unsigned *got;
  OK(cuMemAllocHost_v2((void **)&got, 128));

  // fill x with 5 -> twice increase -> copy to the host -> add on the host; y is another branch
  CUgraph graph;
  CUgraphNode fill, first, second, other, copy, call, empty;
  OK(cuGraphCreate(&graph, 0));
  CUfillNode filled = {.to = x, .value = 5, .element = 4, .width = 32, .height = 1};
  OK(cuGraphAddMemsetNode(&fill, graph, NULL, 0, &filled, context));
  void *on_x[] = {&x}, *on_y[] = {&y};
  CUkernelNode kernel = {.function = function_of(module, "increase"), .grid = {1, 1, 1}, .block = {32, 1, 1}, .params = on_x};
  OK(cuGraphAddKernelNode_v2(&first, graph, &fill, 1, &kernel));
  OK(cuGraphAddKernelNode_v2(&second, graph, &first, 1, &kernel));
  kernel.params = on_y;
  OK(cuGraphAddKernelNode_v2(&other, graph, NULL, 0, &kernel));
  CUcopy3D back = {.src_type = DEVICE, .src_device = x, .src_pitch = 128, .dst_type = HOST, .dst_host = got, .dst_pitch = 128,
                   .width = 128, .height = 1, .depth = 1};
  OK(cuGraphAddMemcpyNode(&copy, graph, &second, 1, &back, context));
  CUhostNode added = {add_thousand, got};
  OK(cuGraphAddHostNode(&call, graph, &copy, 1, &added));
  OK(cuGraphAddEmptyNode(&empty, graph, NULL, 0));
  CUgraphNode from[] = {call, other}, to[] = {empty, empty};
  OK(cuGraphAddDependencies(graph, from, to, 2));

  size_t count = 0;
  OK(cuGraphGetNodes(graph, NULL, &count));
  WANT(count, 7);
  OK(cuGraphGetEdges(graph, NULL, NULL, &count));
  WANT(count, 6);
  CUgraphNode roots[7];
  count = 7;
  OK(cuGraphGetRootNodes(graph, roots, &count));
  WANT(count, 2);
  const CUgraphNode nodes[] = {fill, first, copy, call, empty};
  const int types[] = {FILL, KERNEL, COPY, CALL, EMPTY};
  for (int i = 0; i < 5; i++) {
    int type;
    OK(cuGraphNodeGetType(nodes[i], &type));
    WANT(type, types[i]);
  }

  CUgraphExec executable, none;
  OK(cuGraphInstantiateWithFlags(&executable, graph, 0));
  OK(cuGraphUpload(executable, NULL));
  for (int i = 0; i < 2; i++) OK(cuGraphLaunch(executable, NULL));
  OK(cuCtxSynchronize());
  for (int i = 0; i < 32; i++) WANT(got[i], i ? 7 : 1007);
  WANT(word(y + 124), 2);

  // Changed where it is instantiated: another value, a block that is smaller.
  filled.value = 50;
  OK(cuGraphExecMemsetNodeSetParams(executable, fill, &filled, context));
  CUkernelNode asked;
  OK(cuGraphKernelNodeGetParams_v2(second, &asked));
  WANT(asked.block[0], 32);
  WANT(*(CUdeviceptr *)asked.params[0], x);
  asked.block[0] = 16;
  OK(cuGraphExecKernelNodeSetParams_v2(executable, second, &asked));
  OK(cuGraphNodeSetEnabled(executable, other, 0));
  unsigned enabled = 1;
  OK(cuGraphNodeGetEnabled(executable, other, &enabled));
  WANT(enabled, 0);
  OK(cuGraphLaunch(executable, NULL));
  OK(cuCtxSynchronize());
  for (int i = 1; i < 32; i++) WANT(got[i], i < 16 ? 52 : 51);
  WANT(word(y + 124), 2);

  // A circle is none that can be run.
  CUgraphNode end[] = {empty}, begin_again[] = {fill};
  CUresult code = cuGraphAddDependencies(graph, end, begin_again, 1);
  if (code == 0) code = cuGraphInstantiateWithFlags(&none, graph, 0);
  IS(code, 1);

  OK(cuGraphExecDestroy(executable));
  OK(cuGraphDestroy(graph));
  OK(cuMemFreeHost(got));
  OK(cuMemFree_v2(x));
  OK(cuMemFree_v2(y));
  OK(cuModuleUnload(module));
  puts("right");
}
