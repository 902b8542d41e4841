// Blocks that wait for each other: all run at once, and a grid that can not is refused.
#include "driver.h"

// Each block adds 1 to a counter, waits until all have, and writes what it then finds.
static const char *const text = HEAD("sm_70")
    ".visible .entry meet(.param .u64 px, .param .u32 pn) {\n.reg .pred %p;\n.reg .b32 %r<5>;\n.reg .b64 %d<4>;\n"
    "ld.param.u64 %d1, [px];\nld.param.u32 %r1, [pn];\natom.add.release.gpu.global.u32 %r2, [%d1], 1;\n"
    "W: ld.acquire.gpu.global.u32 %r3, [%d1];\nsetp.lt.u32 %p, %r3, %r1;\n@%p bra W;\nmov.u32 %r4, %ctaid.x;\n"
    "mul.wide.u32 %d2, %r4, 4;\nadd.s64 %d3, %d1, %d2;\nst.global.u32 [%d3+4], %r3;\nret;\n}\n";

int main(void) {
  begin();
  CUmodule module = load(text);
  CUfunction meet = function_of(module, "meet");
  int processors, blocks, can;
  OK(cuDeviceGetAttribute(&can, 95, 0)); // CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH
  WANT(can, 1);
  OK(cuDeviceGetAttribute(&processors, 16, 0));
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, meet, 1, 0));
  unsigned most = processors * blocks, n = most < 64 ? most : 64;
  CUdeviceptr x = zeros(4 * (n + 1));
  void *params[] = {&x, &n};
  OK(cuLaunchCooperativeKernel(meet, n, 1, 1, 1, 1, 1, 0, NULL, params));
  for (unsigned i = 0; i <= n; i++) WANT(word(x + 4 * i), n);
  IS(cuLaunchCooperativeKernel(meet, most + 1, 1, 1, 1, 1, 1, 0, NULL, params), 720);

  // The same by an attribute.
  OK(cuMemsetD8_v2(x, 0, 4 * (n + 1)));
  CUlaunchAttribute attribute = {.id = 2, .value = {.words = {1}}};
  CUlaunchConfig config = {.grid = {n, 1, 1}, .block = {1, 1, 1}, .attributes = &attribute, .count = 1};
  OK(cuLaunchKernelEx(&config, meet, params, NULL));
  WANT(word(x + 4 * n), n);
  config.grid[0] = most + 1;
  IS(cuLaunchKernelEx(&config, meet, params, NULL), 720);
  OK(cuMemFree_v2(x));
  OK(cuModuleUnload(module));
  puts("right");
}
