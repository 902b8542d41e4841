// finds: assert
// An assertion of a kernel fails: 710 from then on, until the context is reset.
#include "driver.h"

static const char *const text = HEAD("sm_70") INCREASE
    ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);\n"
    ".global .align 1 .b8 words[] = {120, 32, 62, 32, 48, 0};\n" // x > 0
    ".visible .entry check(.param .u64 px) {\n.reg .pred %p;\n.reg .b32 %r<2>;\n.reg .b64 %d<3>;\nld.param.u64 %d1, [px];\n"
    "ld.global.u32 %r1, [%d1];\nsetp.gt.u32 %p, %r1, 0;\n@%p ret;\nmov.u64 %d2, words;\ncvta.global.u64 %d2, %d2;\n"
    "{\n.param .b64 a;\n.param .b64 b;\n.param .b32 l;\n.param .b64 d;\n.param .b64 e;\nst.param.b64 [a], %d2;\n"
    "st.param.b64 [b], %d2;\nst.param.b32 [l], 3;\nst.param.b64 [d], %d2;\nst.param.b64 [e], 1;\n"
    "call.uni __assertfail, (a, b, l, d, e);\n}\nret;\n}\n";

int main(void) {
  begin();
  CUmodule module = load(text);
  CUfunction check = function_of(module, "check"), increase = function_of(module, "increase");
  CUdeviceptr x = zeros(4);
  OK(launch(increase, 1, x, NULL));
  OK(launch(check, 1, x, NULL));
  OK(cuCtxSynchronize()); // it holds
  OK(cuMemsetD32_v2(x, 0, 1));
  OK(launch(check, 1, x, NULL));
  IS(cuCtxSynchronize(), 710);
  IS(launch(increase, 1, x, NULL), 710);
  unsigned value;
  IS(cuMemcpyDtoH_v2(&value, x, 4), 710);
  IS(cuCtxSynchronize(), 710);

  OK(cuDevicePrimaryCtxReset_v2(0));
  begin();
  module = load(text);
  x = zeros(4);
  OK(launch(function_of(module, "increase"), 1, x, NULL));
  WANT(word(x), 1);
  OK(cuMemFree_v2(x));
  OK(cuModuleUnload(module));
  puts("right");
}
