// Words that streams write and wait for, by themselves and in batches.
#include "driver.h"

enum { GEQ, EQ, AND, NOR, NOT_READY = 600, WAIT32 = 1, WRITE32 = 2, WAIT64 = 4, WRITE64 = 5 };

int main(void) {
  begin();
  CUmodule module = load(HEAD("sm_70") INCREASE);
  CUfunction increase = function_of(module, "increase");
  CUstream waits, writes;
  OK(cuStreamCreate(&waits, 1));
  OK(cuStreamCreate(&writes, 1));
  CUdeviceptr flag = zeros(16), x = zeros(4);

  OK(cuStreamWaitValue32_v2(waits, flag, 3, EQ));
  OK(launch(increase, 1, x, waits));
  OK(cuStreamWriteValue32_v2(writes, flag, 2, 0));
  OK(cuStreamSynchronize(writes));
  IS(cuStreamQuery(waits), NOT_READY);
  OK(cuStreamWriteValue32_v2(writes, flag, 3, 0));
  OK(cuStreamSynchronize(waits));
  WANT(word(x), 1);

  OK(cuStreamWaitValue64_v2(waits, flag + 8, 1ull << 40, GEQ));
  OK(launch(increase, 1, x, waits));
  OK(cuStreamWriteValue64_v2(writes, flag + 8, (1ull << 40) + 5, 0));
  OK(cuStreamSynchronize(waits));
  WANT(word(x), 2);
  OK(cuStreamWaitValue32_v2(waits, flag, 0xc, NOR)); // ~(3 | 12) is not 0
  OK(cuStreamWaitValue32_v2(waits, flag, 1, AND));
  OK(cuStreamSynchronize(waits));

  CUstreamOperation batch[] = {
      {.value = {WAIT32, flag, 3, EQ, 0}},
      {.value = {WRITE32, flag, 9, 0, 0}},
      {.value = {WRITE64, flag + 8, 77, 0, 0}},
      {.value = {WAIT64, flag + 8, 77, EQ, 0}},
  };
  OK(cuStreamBatchMemOp_v2(waits, 4, batch, 0));
  OK(cuStreamSynchronize(waits));
  WANT(word(flag), 9);
  WANT(word(flag + 8), 77);
  WANT(word(flag + 12), 0);
  IS(cuStreamWaitValue32_v2(waits, flag + 2, 1, EQ), 1); // not at a word
  OK(cuStreamDestroy_v2(waits));
  OK(cuStreamDestroy_v2(writes));
  OK(cuMemFree_v2(flag));
  OK(cuMemFree_v2(x));
  OK(cuModuleUnload(module));
  puts("right");
}
