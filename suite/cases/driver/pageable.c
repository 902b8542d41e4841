// Asynchronous copies of ordinary memory: what is sent has been read when the call returns, what is fetched is there.
#include "driver.h"

int main(void) {
  enum { N = 1 << 20 };
  begin();
  CUmodule module = load(HEAD("sm_70") INCREASE SLOW);
  CUfunction slow = function_of(module, "slow"), increase = function_of(module, "increase");
  CUstream stream;
  OK(cuStreamCreate(&stream, 1));
  CUdeviceptr x = zeros(N), y = zeros(4);
  unsigned char *from = malloc(N), *to = malloc(N);

  OK(launch(slow, 1, y, stream));
  memset(from, 7, N);
  OK(cuMemcpyHtoDAsync_v2(x, from, N, stream));
  memset(from, 9, N);
  OK(cuStreamSynchronize(stream));
  OK(cuMemcpyDtoH_v2(to, x, N));
  for (int i = 0; i < N; i++) WANT(to[i], 7);

  OK(launch(slow, 1, y, stream));
  OK(launch(increase, 1, y, stream));
  unsigned got = 0;
  OK(cuMemcpyDtoHAsync_v2(&got, y, 4, stream));
  WANT(got, 200001);

  // The legacy stream waits for what others were given, and is waited for.
  CUstream blocking;
  OK(cuStreamCreate(&blocking, 0));
  OK(launch(slow, 1, y, blocking));
  OK(launch(increase, 1, y, NULL));
  OK(launch(increase, 1, y, blocking));
  OK(cuMemcpyDtoH_v2(&got, y, 4));
  WANT(got, 200002);

  free(from);
  free(to);
  OK(cuStreamDestroy_v2(stream));
  OK(cuStreamDestroy_v2(blocking));
  OK(cuMemFree_v2(x));
  OK(cuMemFree_v2(y));
  OK(cuModuleUnload(module));
  puts("right");
}
