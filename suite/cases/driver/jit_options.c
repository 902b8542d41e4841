// Options of the compiler: buffers for what it says, limits, targets. Sizes of logs come back.
#include "driver.h"

enum { REGISTERS, THREADS, TIME, INFO, INFO_SIZE, ERRORS, ERRORS_SIZE, LEVEL, FROM_CONTEXT, VERBOSE = 12, LINES, CACHE };

int main(void) {
  begin();
  char info[512], errors[512];
  memset(info, '#', sizeof info);
  memset(errors, '#', sizeof errors);
  int options[] = {REGISTERS, TIME, INFO, INFO_SIZE, ERRORS, ERRORS_SIZE, LEVEL, FROM_CONTEXT, VERBOSE, LINES, CACHE};
  void *values[] = {(void *)32, NULL, info, (void *)sizeof info, errors, (void *)sizeof errors,
                    (void *)3,  NULL, (void *)1, (void *)1, (void *)0};
  unsigned count = sizeof options / sizeof *options;
  CUmodule module;
  OK(cuModuleLoadDataEx(&module, HEAD("sm_70") INCREASE, count, options, values));
  // What was written, without the byte 0 or with it, is what the value says.
  size_t said = (uintptr_t)values[3], wrong = (uintptr_t)values[5];
  EXPECT(said < sizeof info && strnlen(info, sizeof info) <= said);
  EXPECT(wrong <= 1 && strnlen(errors, sizeof errors) == 0);

  // A size of 0, and a log that is shorter than what there is to say: never written past its end.
  char small[8];
  memset(small, '#', sizeof small);
  int few[] = {ERRORS, ERRORS_SIZE};
  void *room[] = {small, (void *)4};
  CUmodule none;
  IS(cuModuleLoadDataEx(&none, HEAD("sm_70") ".visible .entry e() { frobnicate; }", 2, few, room), 218);
  EXPECT(memcmp(small + 4, "####", 4) == 0);
  room[1] = (void *)0;
  memset(small, '#', sizeof small);
  IS(cuModuleLoadDataEx(&none, HEAD("sm_70") ".visible .entry e() { frobnicate; }", 2, few, room), 218);
  EXPECT(memcmp(small, "########", 8) == 0);

  CUdeviceptr x = zeros(128);
  OK(launch(function_of(module, "increase"), 32, x, NULL));
  WANT(word(x + 124), 1);
  OK(cuMemFree_v2(x));
  OK(cuModuleUnload(module));
  puts("right");
}
