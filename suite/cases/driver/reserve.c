// Addresses apart from memory: reserved, two pieces mapped side by side, one of them moved elsewhere with what it holds.
#include "driver.h"

int main(void) {
  enum { PINNED = 1, ON_DEVICE = 1, READ_WRITE = 3 };
  begin();
  CUmodule module = load(HEAD("sm_70") INCREASE);
  CUfunction increase = function_of(module, "increase");
  CUmemoryShape shape = {.type = PINNED, .place = {ON_DEVICE, 0}};
  size_t grain;
  OK(cuMemGetAllocationGranularity(&grain, &shape, 0));
  EXPECT(grain >= 4096 && (grain & (grain - 1)) == 0);
  CUdeviceptr base;
  OK(cuMemAddressReserve(&base, 4 * grain, 0, 0, 0));
  EXPECT(base % grain == 0);
  CUmemHandle first, second;
  OK(cuMemCreate(&first, grain, &shape, 0));
  OK(cuMemCreate(&second, grain, &shape, 0));
  IS(cuMemCreate(&second, grain + 1, &shape, 0), 1);
  OK(cuMemMap(base, grain, 0, first, 0));
  OK(cuMemMap(base + grain, grain, 0, second, 0));
  CUaccess access = {{ON_DEVICE, 0}, READ_WRITE};
  OK(cuMemSetAccess(base, 2 * grain, &access, 1));
  uint64_t flags;
  OK(cuMemGetAccess(&flags, &access.place, base));
  WANT(flags, READ_WRITE);

  // A kernel and a copy over the seam.
  CUdeviceptr seam = base + grain - 64;
  OK(cuMemsetD32_v2(base, 0, 2 * grain / 4));
  OK(launch(increase, 32, seam, NULL));
  unsigned got[34];
  OK(cuMemcpyDtoH_v2(got, seam - 4, sizeof got));
  for (int i = 0; i < 34; i++) WANT(got[i], i >= 1 && i <= 32);

  // Its handle may go while it is mapped.
  OK(cuMemRelease(second));
  WANT(word(base + grain), 1);
  OK(cuMemUnmap(base + grain, grain));
  OK(cuMemUnmap(base, grain));
  OK(cuMemMap(base + 2 * grain, grain, 0, first, 0));
  OK(cuMemSetAccess(base + 2 * grain, grain, &access, 1));
  WANT(word(base + 3 * grain - 64), 1); // the same memory at another address
  OK(cuMemUnmap(base + 2 * grain, grain));
  OK(cuMemRelease(first));
  OK(cuMemAddressFree(base, 4 * grain));
  OK(cuModuleUnload(module));
  puts("right");
}
