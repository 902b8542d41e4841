// Memory, copies, a launch.
#include "check.h"

__global__ void add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main() {
  const int n = 10007;
  std::vector<float> a(n), b(n), c(n);
  for (int i = 0; i < n; i++) a[i] = i, b[i] = 2 * i;
  float *x, *y, *z;
  OK(cudaMalloc(&x, n * 4));
  OK(cudaMalloc(&y, n * 4));
  OK(cudaMalloc(&z, n * 4));
  OK(cudaMemcpy(x, a.data(), n * 4, cudaMemcpyHostToDevice));
  OK(cudaMemcpy(y, b.data(), n * 4, cudaMemcpyDefault));
  add<<<(n + 255) / 256, 256>>>(x, y, z, n);
  OK(cudaGetLastError());
  OK(cudaMemcpy(c.data(), z, n * 4, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i++) EXPECT(c[i] == 3 * i);
  OK(cudaMemcpy(x, z, n * 4, cudaMemcpyDeviceToDevice));
  OK(cudaMemset(z, 0, n * 4));
  OK(cudaMemcpy(a.data(), x, n * 4, cudaMemcpyDeviceToHost));
  OK(cudaMemcpy(b.data(), z, n * 4, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i++) EXPECT(a[i] == 3 * i && b[i] == 0);
  OK(cudaFree(x));
  OK(cudaFree(y));
  OK(cudaFree(z));
  OK(cudaFree(nullptr));
  puts("right");
}
