// Graphs that change: updated from another of the same shape, cloned, within another; objects that live as long as they do.
#include "driver.h"

static int destroyed;
static void destroy(void *data) { destroyed += *(int *)data; }

static CUgraph chain(CUfunction function, CUdeviceptr address, int length) {
  CUgraph graph;
  CUgraphNode last = NULL, node;
  OK(cuGraphCreate(&graph, 0));
  for (int i = 0; i < length; i++) {
    void *params[] = {&address};
    CUkernelNode kernel = {.function = function, .grid = {1, 1, 1}, .block = {32, 1, 1}, .params = params};
    OK(cuGraphAddKernelNode_v2(&node, graph, &last, last ? 1 : 0, &kernel));
    last = node;
  }
  return graph;
}

int main(void) {
  begin();
  CUmodule module = load(HEAD("sm_70") INCREASE);
  CUfunction increase = function_of(module, "increase");
  CUdeviceptr x = zeros(128), y = zeros(128);
  CUgraph on_x = chain(increase, x, 3), on_y = chain(increase, y, 3), longer = chain(increase, y, 4), clone, outer;
  CUgraphExec executable, of_outer, of_clone;
  OK(cuGraphInstantiateWithFlags(&executable, on_x, 0));
  OK(cuGraphLaunch(executable, NULL));
  WANT(word(x), 3);
  CUupdateResult result;
  OK(cuGraphExecUpdate_v2(executable, on_y, &result));
  WANT(result.result, 0);
  OK(cuGraphLaunch(executable, NULL));
  WANT(word(x), 3);
  WANT(word(y), 3);
  IS(cuGraphExecUpdate_v2(executable, longer, &result), 910);
  EXPECT(result.result != 0);
  OK(cuGraphLaunch(executable, NULL)); // as it was
  WANT(word(y), 6);

  // A clone is apart from what it was made from; nodes are found in it.
  CUgraphNode nodes[3], in_clone;
  size_t count = 3;
  OK(cuGraphGetNodes(on_x, nodes, &count));
  OK(cuGraphClone(&clone, on_x));
  OK(cuGraphNodeFindInClone(&in_clone, nodes[2], clone));
  OK(cuGraphDestroyNode(in_clone));
  OK(cuGraphGetNodes(on_x, NULL, &count));
  WANT(count, 3);
  OK(cuGraphGetNodes(clone, NULL, &count));
  WANT(count, 2);
  OK(cuGraphInstantiateWithFlags(&of_clone, clone, 0));
  OK(cuGraphLaunch(of_clone, NULL));
  WANT(word(x), 5);

  // A graph within a graph is copied into it.
  CUgraphNode child, after;
  OK(cuGraphCreate(&outer, 0));
  OK(cuGraphAddChildGraphNode(&child, outer, NULL, 0, on_x));
  void *params[] = {&x};
  CUkernelNode kernel = {.function = increase, .grid = {1, 1, 1}, .block = {1, 1, 1}, .params = params};
  OK(cuGraphAddKernelNode_v2(&after, outer, &child, 1, &kernel));
  int one = 1;
  CUuserObject object;
  OK(cuUserObjectCreate(&object, &one, destroy, 1, 1));
  OK(cuGraphRetainUserObject(outer, object, 1, 1)); // the graph has the reference now
  OK(cuGraphInstantiateWithFlags(&of_outer, outer, 0));
  OK(cuGraphDestroy(on_x));
  OK(cuGraphDestroy(outer));
  OK(cuGraphLaunch(of_outer, NULL));
  WANT(word(x), 9);
  WANT(word(x + 4), 8);
  WANT(destroyed, 0);
  OK(cuGraphExecDestroy(of_outer));
  // It goes with the last that has it, by another thread at its leisure.
  for (int i = 0; i < 1000000000 && !*(volatile int *)&destroyed; i++) continue;
  WANT(destroyed, 1);

  OK(cuGraphExecDestroy(executable));
  OK(cuGraphExecDestroy(of_clone));
  OK(cuGraphDestroy(on_y));
  OK(cuGraphDestroy(longer));
  OK(cuGraphDestroy(clone));
  OK(cuMemFree_v2(x));
  OK(cuMemFree_v2(y));
  OK(cuModuleUnload(module));
  puts("right");
}
