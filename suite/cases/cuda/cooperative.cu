// Groups of cooperating threads: tiles, warps, and the lanes that happen to be together.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(int *o, int *p, int *q, const int *x) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  auto warp = cg::tiled_partition<32>(block);
  int v = x[block.thread_rank()];
  o[block.thread_rank()] = cg::reduce(tile, v, cg::plus<int>());
  p[block.thread_rank()] = cg::inclusive_scan(warp, v);
  if (v & 1) { auto c = cg::coalesced_threads(); q[block.thread_rank()] = c.size() * 100 + c.thread_rank(); } else q[block.thread_rank()] = cg::labeled_partition(cg::coalesced_threads(), v).size();
  block.sync();
}
