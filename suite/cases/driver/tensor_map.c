// exec: --sm 90
// A tensor map on the host, a box of it fetched by one thread: what lies outside of the tensor is 0.
#include "driver.h"

static const char *const text = HEAD("sm_90")
    ".visible .entry fetch(.param .align 64 .b8 pm[128], .param .u64 px, .param .u32 pcolumn, .param .u32 prow) {\n"
    ".reg .pred %p<3>;\n.reg .b32 %r<8>;\n.reg .b64 %d<6>;\n.shared .align 128 .b8 box[256];\n"
    ".shared .align 8 .b64 full;\nmov.b64 %d1, pm;\ncvta.param.u64 %d1, %d1;\nld.param.u64 %d2, [px];\n"
    "ld.param.u32 %r1, [pcolumn];\nld.param.u32 %r2, [prow];\nmov.u32 %r3, %tid.x;\nsetp.ne.u32 %p1, %r3, 0;\n"
    "@%p1 bra WAIT;\nmbarrier.init.shared::cta.b64 [full], 1;\nfence.proxy.async.shared::cta;\n"
    "mbarrier.arrive.expect_tx.shared::cta.b64 %d3, [full], 256;\n"
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [box], [%d1, {%r1, %r2}], [full];\n"
    "WAIT: bar.sync 0;\nLOOP: mbarrier.try_wait.parity.shared::cta.b64 %p2, [full], 0;\n@!%p2 bra LOOP;\n"
    "shl.b32 %r4, %r3, 2;\nmov.u32 %r5, box;\nadd.u32 %r5, %r5, %r4;\nld.shared.u32 %r6, [%r5];\n"
    "mul.wide.u32 %d4, %r3, 4;\nadd.s64 %d5, %d2, %d4;\nst.global.u32 [%d5], %r6;\nret;\n}\n";

int main(void) {
  enum { W = 20, H = 10, BOX_W = 16, BOX_H = 4, U32 = 2 };
  begin();
  CUmodule module = load(text);
  CUfunction fetch = function_of(module, "fetch");
  unsigned from[H][W], got[BOX_H][BOX_W];
  for (int i = 0; i < H; i++)
    for (int j = 0; j < W; j++) from[i][j] = 100 * i + j + 1;
  CUdeviceptr tensor = zeros(sizeof from), x = zeros(sizeof got);
  OK(cuMemcpyHtoD_v2(tensor, from, sizeof from));
  CUtensorMap map;
  uint64_t sizes[] = {W, H}, strides[] = {4 * W};
  uint32_t box[] = {BOX_W, BOX_H}, steps[] = {1, 1};
  OK(cuTensorMapEncodeTiled(&map, U32, 2, (void *)tensor, sizes, strides, box, steps, 0, 0, 0, 0));
  const int corners[][2] = {{0, 0}, {3, 5}, {12, 8}, {-2, -1}};
  for (int c = 0; c < 4; c++) {
    int column = corners[c][0], row = corners[c][1];
    void *params[] = {&map, &x, &column, &row};
    OK(cuLaunchKernel(fetch, 1, 1, 1, BOX_W * BOX_H, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH_v2(got, x, sizeof got));
    for (int i = 0; i < BOX_H; i++)
      for (int j = 0; j < BOX_W; j++) {
        int y = row + i, z = column + j, inside = y >= 0 && y < H && z >= 0 && z < W;
        WANT(got[i][j], inside ? from[y][z] : 0);
      }
  }
  strides[0] = 4 * W + 4; // no multiple of 16
  IS(cuTensorMapEncodeTiled(&map, U32, 2, (void *)tensor, sizes, strides, box, steps, 0, 0, 0, 0), 1);
  strides[0] = 4 * W;
  box[0] = 300; // more than 256
  IS(cuTensorMapEncodeTiled(&map, U32, 2, (void *)tensor, sizes, strides, box, steps, 0, 0, 0, 0), 1);
  OK(cuMemFree_v2(tensor));
  OK(cuMemFree_v2(x));
  OK(cuModuleUnload(module));
  puts("right");
}
