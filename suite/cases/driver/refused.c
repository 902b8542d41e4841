// PTX that is refused: the code says why, the log names the line and the word.
#include "driver.h"

static CUresult try_to_load(const char *text, char log[1024]) {
  int options[] = {5, 6}; // the buffer for errors, its size
  void *values[] = {log, (void *)1024};
  CUmodule module;
  memset(log, 0, 1024);
  CUresult code = cuModuleLoadDataEx(&module, text, 2, options, values);
  EXPECT(code != 0);
  EXPECT(strlen(log) > 10 && strlen(log) <= (uintptr_t)values[1]);
  return code;
}

static void says(const char *log, const char *part) {
  if (strstr(log, part)) return;
  printf("no `%s` in: %s\n", part, log);
  exit(1);
}

int main(void) {
  begin();
  char log[1024];
  IS(try_to_load(HEAD("sm_70") ".visible .entry e() {\n  frobnicate.b32 7;\n  ret;\n}\n", log), 218);
  says(log, "5");
  says(log, "frobnicate");
  IS(try_to_load(HEAD("sm_70") ".visible .entry e() {\n  mov.u32 %nowhere, 1;\n  ret;\n}\n", log), 218);
  says(log, "5");
  says(log, "%nowhere");
  IS(try_to_load(HEAD("sm_70") ".visible .entry e() {\n .reg .b32 %r1;\n .reg .f64 %f1;\n  add.u32 %r1, %r1, %f1;\n ret;\n}\n", log), 218);
  says(log, "7");
  says(log, ".f64");
  IS(try_to_load(HEAD("sm_70") ".visible .entry e() {\n  bra AWAY;\n}\n", log), 218);
  says(log, "AWAY");
  IS(try_to_load(HEAD("sm_70") ".extern .func f();\n.visible .entry e() {\n  call.uni f, ();\n  ret;\n}\n", log), 218);
  says(log, "f");
  IS(try_to_load(".version 99.0\n.target sm_70\n.address_size 64\n.visible .entry e() { ret; }\n", log), 222);
  says(log, "99");

  // Nothing of that is left over: the context works.
  CUmodule module = load(HEAD("sm_70") INCREASE);
  CUdeviceptr x = zeros(4);
  OK(launch(function_of(module, "increase"), 1, x, NULL));
  WANT(word(x), 1);
  OK(cuMemFree_v2(x));
  OK(cuModuleUnload(module));
  puts("right");
}
