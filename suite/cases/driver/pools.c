// Memory in the order of a stream: the card's own pool and one of the program's, thresholds, what is in use.
#include "driver.h"

enum { THRESHOLD = 4, RESERVED = 5, USED = 7, USED_HIGH = 8, PINNED = 1, ON_DEVICE = 1 };

static uint64_t asked(CUmemPool pool, int what) {
  uint64_t value;
  OK(cuMemPoolGetAttribute(pool, what, &value));
  return value;
}

int main(void) {
  begin();
  CUmodule module = load(HEAD("sm_70") INCREASE);
  CUfunction increase = function_of(module, "increase");
  CUstream stream;
  OK(cuStreamCreate(&stream, 1));
  unsigned got[2];
  CUdeviceptr x, y;
  OK(cuMemAllocAsync(&x, 128, stream));
  OK(cuMemsetD32Async(x, 4, 32, stream));
  OK(launch(increase, 32, x, stream));
  OK(cuMemcpyDtoHAsync_v2(&got[0], x + 124, 4, stream));
  OK(cuMemFreeAsync(x, stream));
  OK(cuMemAllocAsync(&y, 128, stream));
  OK(cuMemsetD32Async(y, 8, 32, stream));
  OK(cuMemcpyDtoHAsync_v2(&got[1], y, 4, stream));
  OK(cuMemFreeAsync(y, stream));
  OK(cuStreamSynchronize(stream));
  WANT(got[0], 5);
  WANT(got[1], 8);

  CUmemPool own, pool;
  OK(cuDeviceGetDefaultMemPool(&own, 0));
  WANT(asked(own, USED), 0);
  CUpoolShape shape = {.type = PINNED, .place = {ON_DEVICE, 0}};
  OK(cuMemPoolCreate(&pool, &shape));
  uint64_t keep = 1 << 20;
  WANT(asked(pool, THRESHOLD), 0);
  OK(cuMemPoolSetAttribute(pool, THRESHOLD, &keep));
  WANT(asked(pool, THRESHOLD), keep);
  OK(cuMemAllocFromPoolAsync(&x, 10000, pool, stream));
  OK(cuMemsetD8Async(x, 1, 10000, stream));
  OK(cuStreamSynchronize(stream));
  uint64_t used = asked(pool, USED);
  EXPECT(used >= 10000 && used <= asked(pool, RESERVED));
  WANT(asked(own, USED), 0);
  OK(cuMemFreeAsync(x, stream));
  OK(cuStreamSynchronize(stream));
  WANT(asked(pool, USED), 0);
  WANT(asked(pool, USED_HIGH), used);
  OK(cuMemPoolTrimTo(pool, 0));
  WANT(asked(pool, RESERVED), 0);
  OK(cuMemPoolDestroy(pool));
  OK(cuStreamDestroy_v2(stream));
  OK(cuModuleUnload(module));
  puts("right");
}
