// cc: -pthread
// Threads of the host: each with a context of its own, and all in one.
#include "driver.h"
#include <pthread.h>

enum { THREADS = 6, ROUNDS = 20 };
static CUcontext shared;
static CUdeviceptr of_all;
static CUfunction of_shared;

static void *work(void *number) {
  long id = (long)number;
  CUcontext own, current;
  OK(cuCtxGetCurrent(&current));
  EXPECT(current == NULL); // nobody else's is current here
  OK(cuCtxCreate_v2(&own, 0, 0));
  CUmodule module = load(HEAD("sm_70") INCREASE);
  CUfunction increase = function_of(module, "increase");
  CUstream stream;
  OK(cuStreamCreate(&stream, 1));
  CUdeviceptr x = zeros(128);
  for (int i = 0; i < ROUNDS + id; i++) OK(launch(increase, 32, x, stream));
  OK(cuStreamSynchronize(stream));
  for (int i = 0; i < 32; i++) WANT(word(x + 4 * i), ROUNDS + id);
  OK(cuMemFree_v2(x));
  OK(cuStreamDestroy_v2(stream));
  OK(cuModuleUnload(module));
  OK(cuCtxDestroy_v2(own));

  // A word for each thread in memory of the context that all have.
  OK(cuCtxSetCurrent(shared));
  for (int i = 0; i < ROUNDS; i++) OK(launch(of_shared, 1, of_all + 4 * id, PER_THREAD));
  OK(cuStreamSynchronize(PER_THREAD));
  WANT(word(of_all + 4 * id), ROUNDS);
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  shared = begin();
  CUmodule module = load(HEAD("sm_70") INCREASE);
  of_shared = function_of(module, "increase");
  of_all = zeros(4 * THREADS);
  for (long i = 0; i < THREADS; i++) EXPECT(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
  for (int i = 0; i < THREADS; i++) EXPECT(pthread_join(threads[i], NULL) == 0);
  for (int i = 0; i < THREADS; i++) WANT(word(of_all + 4 * i), ROUNDS);
  OK(cuMemFree_v2(of_all));
  OK(cuModuleUnload(module));
  puts("right");
}
