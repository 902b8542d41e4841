// Libraries: code that belongs to no context, kernels of which each context has a function.
#include "driver.h"
#include <unistd.h>

static const char *const text = HEAD("sm_70") ".visible .global .align 4 .u32 level = 5;\n" INCREASE SLOW;

int main(void) {
  CUcontext first = begin(), second;
  CUlibrary library, from_file, none;
  OK(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
  unsigned count;
  OK(cuLibraryGetKernelCount(&count, library));
  WANT(count, 2);
  CUkernel kernels[2], increase, absent;
  OK(cuLibraryEnumerateKernels(kernels, 2, library));
  OK(cuLibraryGetKernel(&increase, library, "increase"));
  EXPECT(kernels[0] == increase || kernels[1] == increase);
  IS(cuLibraryGetKernel(&absent, library, "decrease"), 500);
  const char *name;
  OK(cuKernelGetName(&name, increase));
  EXPECT(strcmp(name, "increase") == 0);
  int value;
  OK(cuKernelGetAttribute(&value, 0, increase, 0));
  WANT(value, 1024);
  OK(cuKernelSetAttribute(8, 60000, increase, 0)); // dynamic shared memory
  OK(cuKernelGetAttribute(&value, 8, increase, 0));
  WANT(value, 60000);

  // A kernel can be launched as a function; the function of the current context is another way.
  CUdeviceptr x = zeros(128);
  OK(launch((CUfunction)increase, 32, x, NULL));
  CUfunction function;
  OK(cuKernelGetFunction(&function, increase));
  OK(launch(function, 32, x, NULL));
  for (int i = 0; i < 32; i++) WANT(word(x + 4 * i), 2);

  // Its variables, and the module behind it, are the context's.
  CUdeviceptr level, of_module;
  size_t bytes;
  OK(cuLibraryGetGlobal(&level, &bytes, library, "level"));
  WANT(bytes, 4);
  WANT(word(level), 5);
  CUmodule module;
  OK(cuLibraryGetModule(&module, library));
  OK(cuModuleGetGlobal_v2(&of_module, NULL, module, "level"));
  EXPECT(of_module == level);
  OK(cuCtxCreate_v2(&second, 0, 0));
  CUfunction other;
  OK(cuKernelGetFunction(&other, increase));
  EXPECT(other != function);
  OK(launch(other, 32, x, NULL));
  OK(cuCtxDestroy_v2(second));
  OK(cuCtxSetCurrent(first));
  WANT(word(x), 3);

  char path[] = "/tmp/library-XXXXXX";
  int file = mkstemp(path);
  WANT(write(file, text, strlen(text)), strlen(text));
  close(file);
  OK(cuLibraryLoadFromFile(&from_file, path, NULL, NULL, 0, NULL, NULL, 0));
  unlink(path);
  OK(cuLibraryGetKernel(&increase, from_file, "increase"));
  OK(launch((CUfunction)increase, 1, x, NULL));
  WANT(word(x), 4);
  IS(cuLibraryLoadFromFile(&none, "/nowhere/at/all.ptx", NULL, NULL, 0, NULL, NULL, 0), 301);

  OK(cuMemFree_v2(x));
  OK(cuLibraryUnload(from_file));
  OK(cuLibraryUnload(library));
  puts("right");
}
