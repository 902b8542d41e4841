// Memory of the host that kernels reach: allocated, mapped, registered.
#include "driver.h"

int main(void) {
  enum { PORTABLE = 1, MAPPED = 2 };
  begin();
  CUmodule module = load(HEAD("sm_70") INCREASE);
  CUfunction increase = function_of(module, "increase");
  unsigned *plain, *mapped, flags;
  CUdeviceptr address;
  OK(cuMemAllocHost_v2((void **)&plain, 4096));
  OK(cuMemHostAlloc((void **)&mapped, 4096, PORTABLE | MAPPED));
  OK(cuMemHostGetFlags(&flags, mapped));
  WANT(flags & (PORTABLE | MAPPED), PORTABLE | MAPPED);
  OK(cuMemHostGetDevicePointer_v2(&address, mapped, 0));
  EXPECT(address == (uintptr_t)mapped);
  memset(plain, 0, 4096);
  memset(mapped, 0, 4096);
  OK(launch(increase, 32, (uintptr_t)plain, NULL));
  OK(launch(increase, 32, (uintptr_t)mapped, NULL));
  OK(launch(increase, 16, (uintptr_t)(mapped + 16), NULL));
  OK(cuCtxSynchronize());
  for (int i = 0; i < 32; i++) {
    WANT(plain[i], 1);
    WANT(mapped[i], i < 16 ? 1 : 2);
  }

  unsigned *own = aligned_alloc(4096, 8192);
  memset(own, 0, 8192);
  OK(cuMemHostRegister_v2(own, 8192, MAPPED));
  IS(cuMemHostRegister_v2(own, 8192, MAPPED), 712);
  OK(cuMemHostGetDevicePointer_v2(&address, own + 100, 0));
  OK(launch(increase, 32, address, NULL));
  OK(cuCtxSynchronize());
  for (int i = 0; i < 132; i++) WANT(own[i], i >= 100);
  OK(cuMemHostUnregister(own));
  IS(cuMemHostUnregister(own), 713);
  free(own);

  // Copies between the two, by direction or by addresses alone.
  CUdeviceptr x = zeros(4096);
  OK(cuMemcpyHtoDAsync_v2(x, mapped, 4096, NULL));
  OK(cuMemcpy((uintptr_t)plain, x, 4096));
  for (int i = 0; i < 32; i++) WANT(plain[i], i < 16 ? 1 : 2);
  // Fills and words of streams, too.
  OK(cuMemsetD32_v2((uintptr_t)(plain + 512), 9, 4));
  OK(cuStreamWriteValue32_v2(NULL, (uintptr_t)(plain + 516), 10, 0));
  OK(cuStreamWaitValue32_v2(NULL, (uintptr_t)(plain + 516), 10, 1));
  OK(cuCtxSynchronize());
  for (int i = 511; i < 518; i++) WANT(plain[i], i < 512 || i > 516 ? 0 : i < 516 ? 9 : 10);
  OK(cuMemFree_v2(x));
  OK(cuMemFreeHost(plain));
  OK(cuMemFreeHost(mapped));
  IS(cuMemFreeHost(&flags), 1);
  OK(cuModuleUnload(module));
  puts("right");
}
