// A module from text: its kernel by name, what is known of it, parameters by pointers and packed.
#include "driver.h"

static const char *const text = HEAD("sm_70")
    ".visible .entry axpy(.param .f32 pa, .param .u64 px, .param .u64 py, .param .u32 pn) .maxntid 256 {\n"
    ".reg .pred %p;\n.reg .b32 %r<5>;\n.reg .f32 %f<4>;\n.reg .b64 %d<6>;\n.shared .align 4 .b8 room[64];\n"
    "ld.param.f32 %f1, [pa];\nld.param.u64 %d1, [px];\nld.param.u64 %d2, [py];\nld.param.u32 %r4, [pn];\n"
    "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\nmad.lo.u32 %r1, %r1, %r2, %r3;\n"
    "setp.ge.u32 %p, %r1, %r4;\n@%p ret;\nmul.wide.u32 %d3, %r1, 4;\nadd.s64 %d1, %d1, %d3;\nadd.s64 %d2, %d2, %d3;\n"
    "ld.global.f32 %f2, [%d1];\nld.global.f32 %f3, [%d2];\nfma.rn.f32 %f3, %f1, %f2, %f3;\n"
    "st.global.f32 [%d2], %f3;\nret;\n}\n";

int main(void) {
  enum { N = 1000 };
  begin();
  CUmodule module = load(text), again;
  CUfunction axpy = function_of(module, "axpy"), none;
  IS(cuModuleGetFunction(&none, module, "axpby"), 500);

  const char *name;
  OK(cuFuncGetName(&name, axpy));
  EXPECT(strcmp(name, "axpy") == 0);
  OK(cuFuncGetModule(&again, axpy));
  EXPECT(again == module);
  int value;
  OK(cuFuncGetAttribute(&value, 0, axpy));
  WANT(value, 256); // .maxntid
  OK(cuFuncGetAttribute(&value, 1, axpy));
  WANT(value, 64); // static shared memory
  const size_t offsets[] = {0, 8, 16, 24}, sizes[] = {4, 8, 8, 4};
  for (size_t i = 0; i < 4; i++) {
    size_t offset, size;
    OK(cuFuncGetParamInfo(axpy, i, &offset, &size));
    WANT(offset, offsets[i]);
    WANT(size, sizes[i]);
  }
  size_t offset, size;
  IS(cuFuncGetParamInfo(axpy, 4, &offset, &size), 1);

  float x[N], y[N], got[N];
  for (int i = 0; i < N; i++) x[i] = i, y[i] = 2 * i + 1;
  CUdeviceptr on_x = zeros(sizeof x), on_y = zeros(sizeof y);
  OK(cuMemcpyHtoD_v2(on_x, x, sizeof x));
  OK(cuMemcpyHtoD_v2(on_y, y, sizeof y));
  float a = 3;
  unsigned n = N;
  void *params[] = {&a, &on_x, &on_y, &n};
  OK(cuLaunchKernel(axpy, 8, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
  // The same, packed: CU_LAUNCH_PARAM_BUFFER_POINTER and CU_LAUNCH_PARAM_BUFFER_SIZE.
  struct { float a; CUdeviceptr x, y; unsigned n; } packed = {a, on_x, on_y, n};
  size_t bytes = 28;
  void *extra[] = {(void *)1, &packed, (void *)2, &bytes, (void *)0};
  OK(cuLaunchKernel(axpy, 4, 1, 1, 256, 1, 1, 0, NULL, NULL, extra));
  OK(cuMemcpyDtoH_v2(got, on_y, sizeof got));
  for (int i = 0; i < N; i++) WANT(got[i], 8 * i + 1);
  // More threads than it is made for, and none.
  IS(cuLaunchKernel(axpy, 1, 1, 1, 257, 1, 1, 0, NULL, params, NULL), 1);
  IS(cuLaunchKernel(axpy, 0, 1, 1, 32, 1, 1, 0, NULL, params, NULL), 1);

  OK(cuMemFree_v2(on_x));
  OK(cuMemFree_v2(on_y));
  OK(cuModuleUnload(module));
  puts("right");
}
