// cc: -ldl
// Functions by cuGetProcAddress: versions, names that are not there, and those whose default stream is the thread's.
#include "driver.h"
#include <dlfcn.h>

typedef CUresult Find(const char *, void **, int, uint64_t, int *);
static Find *find;

static void *named_as(const char *name, int version, uint64_t flags, int want) {
  void *function = NULL;
  int status = -1;
  CUresult code = find(name, &function, version, flags, &status);
  want_number(__FILE__, __LINE__, name, status, want);
  want_number(__FILE__, __LINE__, name, code, 0); // that it is not there is no failure of the call
  return function;
}
#define FUNCTION(name, version) ((__typeof__(&name))named_as(#name, version, 0, 0))

typedef CUresult Launch(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **);
typedef CUresult Wait(CUstream);
typedef CUresult WaitValue(CUstream, CUdeviceptr, unsigned, unsigned);

int main(void) {
  enum { FOUND, ABSENT, THREAD_STREAM = 2, NOT_READY = 600 };
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) {
    printf("%s\n", dlerror());
    return 1;
  }
  find = (Find *)dlsym(driver, "cuGetProcAddress_v2");
  EXPECT(find != NULL);
  named_as("cuSomethingElse", 12000, 0, ABSENT);
  EXPECT(named_as("cuMemAlloc", 3020, 0, FOUND) == dlsym(driver, "cuMemAlloc_v2"));
  EXPECT(named_as("cuCtxCreate", 3020, 0, FOUND) == dlsym(driver, "cuCtxCreate_v2"));
  EXPECT(named_as("cuCtxCreate", 11040, 0, FOUND) == dlsym(driver, "cuCtxCreate_v3"));
  EXPECT(named_as("cuLaunchKernel", 7000, THREAD_STREAM, FOUND) == dlsym(driver, "cuLaunchKernel_ptsz"));

  CUresult (*init)(unsigned) = named_as("cuInit", 2000, 0, FOUND);
  CUresult (*retain)(CUcontext *, CUdevice) = named_as("cuDevicePrimaryCtxRetain", 7000, 0, FOUND);
  CUresult (*set)(CUcontext) = named_as("cuCtxSetCurrent", 4000, 0, FOUND);
  CUresult (*load_data)(CUmodule *, const void *) = named_as("cuModuleLoadData", 2000, 0, FOUND);
  CUresult (*unload)(CUmodule) = named_as("cuModuleUnload", 2000, 0, FOUND);
  CUresult (*get)(CUfunction *, CUmodule, const char *) = named_as("cuModuleGetFunction", 2000, 0, FOUND);
  CUresult (*allocate)(void **, size_t) = named_as("cuMemAllocHost", 3020, 0, FOUND);
  CUresult (*release)(void *) = named_as("cuMemFreeHost", 2000, 0, FOUND);
  Launch *on_thread = named_as("cuLaunchKernel", 7000, THREAD_STREAM, FOUND), *on_legacy = named_as("cuLaunchKernel", 4000, 0, FOUND);
  Wait *wait = named_as("cuStreamSynchronize", 7000, THREAD_STREAM, FOUND), *query = named_as("cuStreamQuery", 7000, THREAD_STREAM, FOUND);
  WaitValue *wait_value = named_as("cuStreamWaitValue32", 12000, THREAD_STREAM, FOUND);
  CUresult (*create)(CUstream *, unsigned) = named_as("cuStreamCreate", 2000, 0, FOUND);
  CUresult (*destroy)(CUstream) = named_as("cuStreamDestroy", 4000, 0, FOUND);
  CUcontext context;
  CUmodule module;
  CUfunction increase;
  CUstream other;
  unsigned *words;
  WANT(init(0), 0);
  WANT(retain(&context, 0), 0);
  WANT(set(context), 0);
  WANT(load_data(&module, HEAD("sm_70") INCREASE), 0);
  WANT(get(&increase, module, "increase"), 0);
  WANT(allocate((void **)&words, 64), 0);
  WANT(create(&other, 1), 0);
  memset(words, 0, 64);
  CUdeviceptr address = (uintptr_t)words;
  void *params[] = {&address};

  // The thread's stream is held up; one that waits for none goes on.
  WANT(wait_value(NULL, address + 32, 1, 1), 0);
  WANT(on_thread(increase, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), 0);
  CUdeviceptr second = address + 16;
  void *of_second[] = {&second};
  WANT(on_legacy(increase, 1, 1, 1, 1, 1, 1, 0, other, of_second, NULL), 0);
  WANT(wait(other), 0);
  WANT(words[4], 1);
  WANT(query(NULL), NOT_READY);
  WANT(words[0], 0);
  *(volatile unsigned *)&words[8] = 1;
  WANT(wait(NULL), 0);
  WANT(words[0], 1);
  WANT(destroy(other), 0);
  WANT(release(words), 0);
  WANT(unload(module), 0);
  puts("right");
}
