// What a kernel prints is on standard output when its stream is waited for, in the order of its launches.
#include "driver.h"
#include <unistd.h>

static const char *const text = HEAD("sm_70")
    ".extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 values);\n"
    ".global .align 1 .b8 format[] = {104, 105, 32, 37, 100, 32, 37, 115, 32, 37, 46, 50, 102, 10, 0};\n" // hi %d %s %.2f
    ".global .align 1 .b8 name[] = {119, 97, 114, 112, 0};\n"
    ".visible .entry speak(.param .u32 pn) {\n.local .align 8 .b8 room[24];\n.reg .b32 %r<3>;\n.reg .b64 %d<6>;\n"
    "ld.param.u32 %r1, [pn];\nmov.u64 %d1, room;\ncvta.local.u64 %d2, %d1;\nst.local.u32 [%d1], %r1;\n"
    "mov.u64 %d3, name;\ncvta.global.u64 %d3, %d3;\nst.local.u64 [%d1+8], %d3;\nmov.b64 %d5, 0d400A000000000000;\n"
    "st.local.u64 [%d1+16], %d5;\nmov.u64 %d4, format;\ncvta.global.u64 %d4, %d4;\n{\n.param .b64 a;\n.param .b64 b;\n"
    ".param .b32 v;\nst.param.b64 [a], %d4;\nst.param.b64 [b], %d2;\ncall.uni (v), vprintf, (a, b);\n"
    "ld.param.b32 %r2, [v];\n}\nret;\n}\n";

int main(void) {
  int ends[2];
  begin();
  CUmodule module = load(text);
  CUfunction speak = function_of(module, "speak");
  EXPECT(pipe(ends) == 0);
  fflush(stdout);
  int out = dup(1);
  dup2(ends[1], 1);
  for (int i = 7; i < 9; i++) {
    void *params[] = {&i};
    OK(cuLaunchKernel(speak, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
  }
  OK(cuCtxSynchronize());
  fflush(stdout);
  dup2(out, 1);
  close(ends[1]);
  char got[256] = "";
  ssize_t bytes = read(ends[0], got, sizeof got - 1);
  const char *want = "hi 7 warp 3.25\nhi 8 warp 3.25\n";
  if (bytes < 0 || strcmp(got, want)) {
    printf("printed was: %s\nand not: %s", got, want);
    return 1;
  }
  OK(cuModuleUnload(module));
  puts("right");
}
