// finds: oob_global
// A kernel stores where nothing is: 700 from whoever waits, and from all that follows in that context alone.
#include "driver.h"

int main(void) {
  begin();
  CUmodule module = load(HEAD("sm_70") INCREASE);
  CUfunction increase = function_of(module, "increase");
  CUdeviceptr x = zeros(128), other;
  CUevent event;
  CUstream stream;
  OK(cuEventCreate(&event, 0));
  OK(cuStreamCreate(&stream, 1));
  OK(launch(increase, 32, x, stream));
  OK(cuStreamSynchronize(stream));
  WANT(word(x), 1);
  OK(launch(increase, 32, 64, stream));
  IS(cuStreamSynchronize(stream), 700);
  IS(cuStreamQuery(stream), 700);
  IS(cuCtxSynchronize(), 700);
  IS(cuEventRecord(event, stream), 700);
  IS(cuMemAlloc_v2(&other, 64), 700);
  unsigned value;
  IS(cuMemcpyDtoH_v2(&value, x, 4), 700);
  IS(launch(increase, 32, x, NULL), 700);
  const char *text;
  OK(cuGetErrorString(700, &text));
  EXPECT(strlen(text) > 10);

  // The first context made anew.
  OK(cuDevicePrimaryCtxReset_v2(0));
  begin();
  module = load(HEAD("sm_70") INCREASE);
  x = zeros(128);
  OK(launch(function_of(module, "increase"), 32, x, NULL));
  WANT(word(x), 1);
  OK(cuMemFree_v2(x));
  OK(cuModuleUnload(module));
  puts("right");
}
