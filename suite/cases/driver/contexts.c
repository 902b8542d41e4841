// Contexts: the primary one is counted, others are made and destroyed; a stack for each thread; what belongs to whom.
#include "driver.h"

int main(void) {
  unsigned flags;
  int active;
  CUcontext primary, again, a, b, current;
  IS(cuCtxGetCurrent(&current), 3); // before cuInit
  OK(cuInit(0));
  OK(cuCtxGetCurrent(&current));
  EXPECT(current == NULL);
  IS(cuCtxSynchronize(), 201);
  OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  WANT(active, 0);
  OK(cuDevicePrimaryCtxRetain(&primary, 0));
  OK(cuDevicePrimaryCtxRetain(&again, 0));
  EXPECT(primary == again);
  OK(cuDevicePrimaryCtxRelease_v2(0));
  OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  WANT(active, 1);
  OK(cuCtxSetCurrent(primary));

  OK(cuCtxCreate_v2(&a, 0, 0)); // current, above the primary one
  OK(cuCtxCreate_v2(&b, 0, 0));
  OK(cuCtxGetCurrent(&current));
  EXPECT(current == b && a != b && a != primary);
  unsigned version;
  OK(cuCtxGetApiVersion(a, &version));
  EXPECT(version >= 3000);

  // Streams and modules are of the context in which they were made; memory is reached from all of a card's.
  CUmodule of_b = load(HEAD("sm_70") INCREASE);
  CUfunction increase = function_of(of_b, "increase");
  CUdeviceptr x = zeros(4);
  CUstream stream_of_b;
  OK(cuStreamCreate(&stream_of_b, 0));
  OK(launch(increase, 1, x, stream_of_b));
  OK(cuCtxPopCurrent_v2(&current));
  EXPECT(current == b);
  OK(cuCtxGetCurrent(&current));
  EXPECT(current == a);
  CUmodule of_a = load(HEAD("sm_70") INCREASE);
  CUresult code = launch(function_of(of_a, "increase"), 1, x, stream_of_b);
  EXPECT(code == 400 || code == 201); // the stream is none of this context
  OK(cuCtxPushCurrent_v2(b));
  OK(cuCtxSynchronize());
  WANT(word(x), 1);
  OK(cuMemFree_v2(x));

  size_t limit;
  OK(cuCtxGetLimit(&limit, 0)); // the stack of a thread
  EXPECT(limit >= 1024);
  OK(cuCtxSetLimit(0, 4096));
  OK(cuCtxGetLimit(&limit, 0));
  WANT(limit, 4096);
  IS(cuCtxGetLimit(&limit, 99), 215);

  // What is destroyed leaves the stack where it is on top, and takes what was made in it along.
  CUdeviceptr lost = zeros(64);
  (void)lost;
  OK(cuMemFree_v2(lost));
  OK(cuCtxDestroy_v2(b));
  OK(cuCtxGetCurrent(&current));
  EXPECT(current == a);
  OK(cuCtxDestroy_v2(a));
  OK(cuCtxGetCurrent(&current));
  EXPECT(current == primary);
  OK(cuCtxSynchronize());
  code = cuCtxSetCurrent(b);
  EXPECT(code == 201 || code == 709 || code == 1); // destroyed
  OK(cuCtxPopCurrent_v2(&current));
  IS(cuCtxPopCurrent_v2(&current), 201);
  OK(cuDevicePrimaryCtxRelease_v2(0));
  OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  WANT(active, 0);
  puts("right");
}
