// A grid whose blocks wait for each other.
#include "check.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void prefix(int *x, int *y, int n) {
  auto grid = cg::this_grid();
  int i = grid.thread_rank();
  int *from = x, *to = y;
  for (int step = 1; step < n; step *= 2) {
    if (i < n) to[i] = from[i] + (i >= step ? from[i - step] : 0);
    grid.sync();
    int *swap = from;
    from = to, to = swap;
  }
  if (i < n) y[i] = from[i];
}

int main() {
  int supported = 0;
  OK(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0));
  EXPECT(supported);
  int n = 300, *x, *y, host[300];
  for (int i = 0; i < n; i++) host[i] = i;
  OK(cudaMalloc(&x, n * 4));
  OK(cudaMalloc(&y, n * 4));
  OK(cudaMemcpy(x, host, n * 4, cudaMemcpyHostToDevice));
  void *args[] = {&x, &y, &n};
  OK(cudaLaunchCooperativeKernel((void *)prefix, dim3(5), dim3(64), args, 0, 0));
  OK(cudaMemcpy(host, y, n * 4, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i++) EXPECT(host[i] == i * (i + 1) / 2);
  IS(cudaLaunchCooperativeKernel((void *)prefix, dim3(1000000), dim3(64), args, 0, 0), cudaErrorCooperativeLaunchTooLarge);
  IS(cudaGetLastError(), cudaErrorCooperativeLaunchTooLarge);
  OK(cudaGetLastError());
  OK(cudaFree(x));
  OK(cudaFree(y));
  puts("right");
}
