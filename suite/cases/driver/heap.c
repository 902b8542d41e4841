// A kernel's own heap, its stack, a table of functions that it calls through.
#include "driver.h"

// Each thread takes 8 bytes, writes to them, reads them through a function of a table, and gives them back.
static const char *const text = HEAD("sm_70")
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n"
    ".func (.param .b32 r) plus(.param .b64 p) {\n.reg .b32 %r1;\n.reg .b64 %d1;\nld.param.b64 %d1, [p];\nld.u32 %r1, [%d1];\n"
    "add.u32 %r1, %r1, 100;\nst.param.b32 [r], %r1;\nret;\n}\n"
    ".func (.param .b32 r) times(.param .b64 p) {\n.reg .b32 %r1;\n.reg .b64 %d1;\nld.param.b64 %d1, [p];\nld.u32 %r1, [%d1];\n"
    "mul.lo.u32 %r1, %r1, 100;\nst.param.b32 [r], %r1;\nret;\n}\n"
    ".global .align 8 .u64 table[2] = {plus, times};\n"
    ".visible .entry use(.param .u64 px) {\n.reg .b32 %r<5>;\n.reg .b64 %d<9>;\nld.param.u64 %d1, [px];\nmov.u32 %r1, %tid.x;\n"
    "{\n.param .b64 n;\n.param .b64 v;\nst.param.b64 [n], 8;\ncall.uni (v), malloc, (n);\nld.param.b64 %d2, [v];\n}\n"
    "st.u32 [%d2], %r1;\nand.b32 %r2, %r1, 1;\nmul.wide.u32 %d3, %r2, 8;\nmov.u64 %d4, table;\nadd.s64 %d5, %d4, %d3;\n"
    "ld.global.u64 %d6, [%d5];\n{\n.param .b64 a;\n.param .b32 v;\nst.param.b64 [a], %d2;\n"
    "P: .callprototype (.param .b32 _) _ (.param .b64 _);\ncall (v), %d6, (a), P;\nld.param.b32 %r3, [v];\n}\n"
    "{\n.param .b64 a;\nst.param.b64 [a], %d2;\ncall.uni free, (a);\n}\nmul.wide.u32 %d7, %r1, 4;\n"
    "add.s64 %d8, %d1, %d7;\nst.global.u32 [%d8], %r3;\nret;\n}\n";

int main(void) {
  enum { STACK, PRINTS, HEAP };
  begin();
  size_t limit;
  OK(cuCtxGetLimit(&limit, HEAP));
  WANT(limit, 8 << 20);
  OK(cuCtxGetLimit(&limit, PRINTS));
  EXPECT(limit >= 1 << 20);
  CUmodule module = load(text);
  CUdeviceptr x = zeros(256);
  for (int round = 0; round < 3; round++) OK(launch(function_of(module, "use"), 64, x, NULL));
  for (int i = 0; i < 64; i++) WANT(word(x + 4 * i), i % 2 ? 100 * i : 100 + i);
  OK(cuMemFree_v2(x));
  OK(cuModuleUnload(module));
  puts("right");
}
