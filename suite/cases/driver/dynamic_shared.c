// Shared memory that the launch sizes: 48 KiB of it at once, more where the function was told.
#include "driver.h"

// Thread i writes its number at the end of the shared memory, in words, and reads that of the thread opposite.
static const char *const text = HEAD("sm_70")
    ".extern .shared .align 16 .b8 room[];\n"
    ".visible .entry turn(.param .u64 px, .param .u32 pbytes) {\n.reg .b32 %r<9>;\n.reg .b64 %d<4>;\nld.param.u64 %d1, [px];\n"
    "ld.param.u32 %r1, [pbytes];\nmov.u32 %r2, %tid.x;\nmov.u32 %r3, room;\nadd.u32 %r3, %r3, %r1;\nshl.b32 %r4, %r2, 2;\n"
    "sub.u32 %r5, %r3, %r4;\nst.shared.u32 [%r5+-4], %r2;\nbar.sync 0;\nsub.u32 %r6, 31, %r2;\nshl.b32 %r6, %r6, 2;\n"
    "sub.u32 %r7, %r3, %r6;\nld.shared.u32 %r8, [%r7+-4];\nmul.wide.u32 %d2, %r2, 4;\nadd.s64 %d3, %d1, %d2;\n"
    "st.global.u32 [%d3], %r8;\nret;\n}\n";

int main(void) {
  enum { DYNAMIC = 8, CARVEOUT = 9, KIB = 1024 };
  begin();
  CUmodule module = load(text);
  CUfunction turn = function_of(module, "turn");
  CUdeviceptr x = zeros(128);
  unsigned bytes = 48 * KIB;
  void *params[] = {&x, &bytes};
  int most, value;
  OK(cuDeviceGetAttribute(&most, 97, 0));
  OK(cuLaunchKernel(turn, 1, 1, 1, 32, 1, 1, bytes, NULL, params, NULL));
  for (int i = 0; i < 32; i++) WANT(word(x + 4 * i), 31 - i);

  bytes = 64 * KIB;
  IS(cuLaunchKernel(turn, 1, 1, 1, 32, 1, 1, bytes, NULL, params, NULL), 1);
  OK(cuFuncSetAttribute(turn, DYNAMIC, bytes));
  OK(cuFuncSetAttribute(turn, CARVEOUT, 100));
  OK(cuFuncGetAttribute(&value, DYNAMIC, turn));
  WANT(value, bytes);
  OK(cuMemsetD8_v2(x, 0, 128));
  OK(cuLaunchKernel(turn, 1, 1, 1, 32, 1, 1, bytes, NULL, params, NULL));
  for (int i = 0; i < 32; i++) WANT(word(x + 4 * i), 31 - i);
  IS(cuFuncSetAttribute(turn, DYNAMIC, most + 1), 1);
  OK(cuFuncSetAttribute(turn, DYNAMIC, most));
  bytes = most;
  OK(cuLaunchKernel(turn, 1, 1, 1, 32, 1, 1, bytes, NULL, params, NULL));
  WANT(word(x), 31);
  OK(cuMemFree_v2(x));
  OK(cuModuleUnload(module));
  puts("right");
}
