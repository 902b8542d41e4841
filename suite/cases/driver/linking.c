// Pieces of PTX, from memory and from a file, become one module: functions, variables, weak ones, a name that is missing.
#include "driver.h"
#include <unistd.h>

static const char *const part = HEAD("sm_70")
    ".visible .global .align 4 .u32 calls = 0;\n"
    ".weak .func (.param .b32 r) offset() {\n  st.param.b32 [r], 7;\n  ret;\n}\n"
    ".visible .func (.param .b32 r) twice(.param .b32 x) {\n.reg .b32 %r<3>;\nld.param.b32 %r1, [x];\n"
    "add.u32 %r1, %r1, %r1;\natom.global.add.u32 %r2, [calls], 1;\nst.param.b32 [r], %r1;\nret;\n}\n";
static const char *const kernel = HEAD("sm_70")
    ".extern .func (.param .b32 r) twice(.param .b32 x);\n.extern .func (.param .b32 r) offset();\n"
    ".visible .entry use(.param .u64 px) {\n.reg .b32 %r<5>;\n.reg .b64 %d<4>;\nld.param.u64 %d1, [px];\n"
    "mov.u32 %r1, %tid.x;\n{\n.param .b32 a;\n.param .b32 v;\nst.param.b32 [a], %r1;\ncall.uni (v), twice, (a);\n"
    "ld.param.b32 %r2, [v];\n}\n{\n.param .b32 v;\ncall.uni (v), offset, ();\nld.param.b32 %r3, [v];\n}\n"
    "add.u32 %r2, %r2, %r3;\nmul.wide.u32 %d2, %r1, 4;\nadd.s64 %d3, %d1, %d2;\nst.global.u32 [%d3], %r2;\nret;\n}\n";

int main(void) {
  enum { PTX = 1 };
  begin();
  char path[] = "/tmp/part-XXXXXX";
  int file = mkstemp(path);
  WANT(write(file, part, strlen(part)), strlen(part));
  close(file);

  CUlinkState link;
  OK(cuLinkCreate_v2(0, NULL, NULL, &link));
  OK(cuLinkAddData_v2(link, PTX, (void *)kernel, strlen(kernel) + 1, "kernel", 0, NULL, NULL));
  IS(cuLinkAddFile_v2(link, PTX, "/nowhere/at/all.ptx", 0, NULL, NULL), 301);
  OK(cuLinkAddFile_v2(link, PTX, path, 0, NULL, NULL));
  unlink(path);
  void *code;
  size_t bytes;
  OK(cuLinkComplete(link, &code, &bytes));
  EXPECT(bytes > 0);
  CUmodule module = load(code); // before the link is destroyed, as the code belongs to it
  OK(cuLinkDestroy(link));

  CUdeviceptr x = zeros(128), calls;
  OK(launch(function_of(module, "use"), 32, x, NULL));
  for (int i = 0; i < 32; i++) WANT(word(x + 4 * i), 2 * i + 7);
  OK(cuModuleGetGlobal_v2(&calls, NULL, module, "calls"));
  WANT(word(calls), 32);

  // Alone it lacks a function, which the log names.
  char log[512] = "";
  int options[] = {5, 6};
  void *values[] = {log, (void *)sizeof log};
  OK(cuLinkCreate_v2(2, options, values, &link));
  CUresult got = cuLinkAddData_v2(link, PTX, (void *)kernel, strlen(kernel) + 1, "kernel", 0, NULL, NULL);
  EXPECT(got == 0);
  got = cuLinkComplete(link, &code, &bytes);
  EXPECT(got != 0);
  EXPECT(strstr(log, "twice") != NULL);
  OK(cuLinkDestroy(link));

  OK(cuMemFree_v2(x));
  OK(cuModuleUnload(module));
  puts("right");
}
