// exec: --sm 90
// Launch attributes: clusters of blocks that read each other's shared memory; those that only hint.
#include "driver.h"

// Each block puts its number into its shared memory and reads what the next block of its cluster has.
static const char *const text = HEAD("sm_90")
    ".visible .entry ask(.param .u64 px) {\n.reg .b32 %r<9>;\n.reg .b64 %d<4>;\n.shared .align 4 .b32 mine;\n"
    "ld.param.u64 %d1, [px];\nmov.u32 %r1, %ctaid.x;\nst.shared.u32 [mine], %r1;\nbarrier.cluster.arrive;\n"
    "barrier.cluster.wait;\nmov.u32 %r2, %cluster_ctarank;\nmov.u32 %r3, %cluster_nctarank;\nadd.u32 %r4, %r2, 1;\n"
    "rem.u32 %r4, %r4, %r3;\nmov.u32 %r5, mine;\nmapa.shared::cluster.u32 %r6, %r5, %r4;\n"
    "ld.shared::cluster.u32 %r7, [%r6];\nmul.wide.u32 %d2, %r1, 4;\nadd.s64 %d3, %d1, %d2;\nst.global.u32 [%d3], %r7;\n"
    "barrier.cluster.arrive;\nbarrier.cluster.wait;\nret;\n}\n";

int main(void) {
  enum { CLUSTER = 4, PROGRAMMATIC = 6, PRIORITY = 8, NON_PORTABLE = 14 };
  begin();
  CUmodule module = load(text);
  CUfunction ask = function_of(module, "ask");
  CUdeviceptr x = zeros(4 * 32);
  void *params[] = {&x};
  CUlaunchAttribute attributes[] = {
      {.id = CLUSTER, .value = {.words = {4, 1, 1}}}, {.id = PROGRAMMATIC, .value = {.words = {1}}}, {.id = PRIORITY}};
  CUlaunchConfig config = {.grid = {32, 1, 1}, .block = {1, 1, 1}, .attributes = attributes, .count = 3};
  int can, most, count;
  OK(cuDeviceGetAttribute(&can, 120, 0)); // CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH
  WANT(can, 1);
  for (unsigned size = 1; size <= 8; size *= 2) {
    attributes[0].value.words[0] = size;
    OK(cuLaunchKernelEx(&config, ask, params, NULL));
    for (unsigned i = 0; i < 32; i++) WANT(word(x + 4 * i), i / size * size + (i + 1) % size);
  }
  // 16 where the function is told, and what does not divide the grid never.
  attributes[0].value.words[0] = 16;
  CUresult code = cuLaunchKernelEx(&config, ask, params, NULL);
  EXPECT(code == 912); // CUDA_ERROR_INVALID_CLUSTER_SIZE
  OK(cuFuncSetAttribute(ask, NON_PORTABLE, 1));
  OK(cuLaunchKernelEx(&config, ask, params, NULL));
  WANT(word(x + 4 * 15), 0);
  attributes[0].value.words[0] = 3;
  EXPECT(cuLaunchKernelEx(&config, ask, params, NULL) != 0);
  OK(cuOccupancyMaxPotentialClusterSize(&most, ask, &config));
  WANT(most, 16);
  attributes[0].value.words[0] = 4;
  OK(cuOccupancyMaxActiveClusters(&count, ask, &config));
  EXPECT(count > 0);
  OK(cuMemFree_v2(x));
  OK(cuModuleUnload(module));
  puts("right");
}
