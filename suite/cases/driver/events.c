// Streams and events: order across streams, what is asked before it is done, time between two.
#include "driver.h"

int main(void) {
  enum { NOT_READY = 600, BLOCKING = 1, NO_TIMING = 2 };
  CUcontext context = begin(), of_stream;
  CUmodule module = load(HEAD("sm_70") INCREASE SLOW);
  CUfunction slow = function_of(module, "slow"), increase = function_of(module, "increase");
  CUstream first, second;
  OK(cuStreamCreate(&first, 1));
  int least, greatest, priority;
  OK(cuCtxGetStreamPriorityRange(&least, &greatest));
  EXPECT(greatest <= least);
  OK(cuStreamCreateWithPriority(&second, 1, greatest));
  OK(cuStreamGetPriority(second, &priority));
  WANT(priority, greatest);
  unsigned flags;
  OK(cuStreamGetFlags(second, &flags));
  WANT(flags, 1);
  OK(cuStreamGetCtx(second, &of_stream));
  EXPECT(of_stream == context);

  CUevent start, end, untimed;
  OK(cuEventCreate(&start, 0));
  OK(cuEventCreate(&end, BLOCKING));
  OK(cuEventCreate(&untimed, NO_TIMING));
  OK(cuEventQuery(untimed)); // never recorded: nothing to wait for
  float ms;
  IS(cuEventElapsedTime(&ms, start, end), 400);

  // Held up by a value that the host writes, so that it is known what is not done.
  CUdeviceptr x = zeros(4);
  unsigned *gate;
  OK(cuMemHostAlloc((void **)&gate, 4, 2));
  *gate = 0;
  OK(cuEventRecord(start, first));
  OK(cuStreamWaitValue32_v2(first, (uintptr_t)gate, 1, 0));
  OK(launch(slow, 1, x, first));
  OK(cuEventRecord(end, first));
  OK(cuEventRecord(untimed, first));
  OK(cuStreamWaitEvent(second, untimed, 0));
  OK(launch(increase, 1, x, second));
  OK(cuEventSynchronize(start));
  IS(cuEventQuery(end), NOT_READY);
  IS(cuStreamQuery(first), NOT_READY);
  IS(cuStreamQuery(second), NOT_READY);
  IS(cuEventElapsedTime(&ms, start, end), NOT_READY);
  *(volatile unsigned *)gate = 1;
  OK(cuEventSynchronize(end));
  OK(cuStreamSynchronize(second));
  OK(cuStreamSynchronize(first));
  OK(cuStreamQuery(first));
  WANT(word(x), 200001);
  OK(cuEventElapsedTime(&ms, start, end));
  EXPECT(ms > 0 && ms < 60000);
  IS(cuEventElapsedTime(&ms, start, untimed), 400);

  // A stream that is destroyed finishes first; so does an event that is waited for.
  OK(launch(slow, 1, x, first));
  OK(cuEventRecord(end, first));
  OK(cuStreamWaitEvent(second, end, 0));
  OK(cuEventDestroy_v2(end));
  OK(cuStreamDestroy_v2(first));
  OK(launch(increase, 1, x, second));
  OK(cuStreamSynchronize(second));
  WANT(word(x), 200001);
  OK(cuStreamDestroy_v2(second));
  OK(cuEventDestroy_v2(start));
  OK(cuEventDestroy_v2(untimed));
  OK(cuMemFreeHost(gate));
  OK(cuMemFree_v2(x));
  OK(cuModuleUnload(module));
  puts("right");
}
