// A module from a file, its functions listed; files that are not there or are something else.
#include "driver.h"
#include <unistd.h>

static void write_to(char *path, const char *text) {
  int file = mkstemp(path);
  EXPECT(file >= 0);
  WANT(write(file, text, strlen(text)), strlen(text));
  close(file);
}

int main(void) {
  begin();
  char path[] = "/tmp/module-XXXXXX", other[] = "/tmp/other-XXXXXX";
  write_to(path, HEAD("sm_70") INCREASE SLOW);
  write_to(other, "This is no module.\n");

  CUmodule module, none;
  IS(cuModuleLoad(&none, "/nowhere/at/all.ptx"), 301);
  CUresult code = cuModuleLoad(&none, other);
  EXPECT(code == 200 || code == 218); // an image that is invalid, or PTX that is
  OK(cuModuleLoad(&module, path));
  unlink(path);
  unlink(other);

  unsigned count;
  OK(cuModuleGetFunctionCount(&count, module));
  WANT(count, 2);
  CUfunction functions[2];
  OK(cuModuleEnumerateFunctions(functions, 2, module));
  int seen = 0;
  for (int i = 0; i < 2; i++) {
    const char *name;
    OK(cuFuncGetName(&name, functions[i]));
    seen += strcmp(name, "increase") == 0 ? 1 : strcmp(name, "slow") == 0 ? 10 : 100;
  }
  WANT(seen, 11);

  CUdeviceptr x = zeros(128);
  OK(launch(function_of(module, "increase"), 32, x, NULL));
  for (int i = 0; i < 32; i++) WANT(word(x + 4 * i), 1);
  OK(cuMemFree_v2(x));
  OK(cuModuleUnload(module));
  IS(cuModuleUnload(NULL), 400);
  puts("right");
}
