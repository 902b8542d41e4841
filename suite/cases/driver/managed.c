// Managed memory: allocated and as a variable of a module, with advice, prefetched, asked about.
#include "driver.h"

static const char *const text = HEAD("sm_70")
    ".visible .global .attribute(.managed) .align 4 .u32 total = 3;\n" INCREASE
    ".visible .entry count() {\n.reg .b32 %r1;\natom.global.add.u32 %r1, [total], 1;\nret;\n}\n";

int main(void) {
  enum { GLOBAL = 1, READ_MOSTLY = 1, PREFERRED = 3, CPU = -1 };
  begin();
  CUmodule module = load(text);
  CUdeviceptr x;
  OK(cuMemAllocManaged(&x, 1 << 16, GLOBAL));
  unsigned *host = (unsigned *)x;
  for (int i = 0; i < 64; i++) host[i] = i;
  OK(cuMemAdvise(x, 1 << 16, READ_MOSTLY, 0));
  OK(cuMemAdvise(x, 1 << 16, PREFERRED, 0));
  OK(cuMemPrefetchAsync(x, 1 << 16, 0, NULL));
  OK(launch(function_of(module, "increase"), 64, x, NULL));
  OK(cuMemPrefetchAsync(x, 1 << 16, CPU, NULL));
  OK(cuCtxSynchronize());
  for (int i = 0; i < 64; i++) WANT(host[i], i + 1);
  unsigned managed = 0;
  OK(cuPointerGetAttribute(&managed, 8, x)); // CU_POINTER_ATTRIBUTE_IS_MANAGED
  WANT(managed & 1, 1);

  CUdeviceptr total;
  size_t bytes;
  OK(cuModuleGetGlobal_v2(&total, &bytes, module, "total"));
  WANT(bytes, 4);
  unsigned *shared = (unsigned *)total;
  WANT(*shared, 3);
  *shared = 10;
  OK(cuLaunchKernel(function_of(module, "count"), 2, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
  OK(cuCtxSynchronize());
  WANT(*shared, 74);
  OK(cuMemFree_v2(x));
  OK(cuModuleUnload(module));
  puts("right");
}
