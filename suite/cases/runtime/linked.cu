// nvcc: -rdc=true linked_part.cu
// Two files whose parts for the card are linked: a function and a variable of the other one.
#include "check.h"

extern __device__ int scale(int);
extern __device__ int calls;

__global__ void use(int *x) { x[threadIdx.x] = scale(threadIdx.x); }

int main() {
  int *x, got[32], count;
  OK(cudaMalloc(&x, sizeof got));
  use<<<1, 32>>>(x);
  OK(cudaGetLastError());
  OK(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; i++) EXPECT(got[i] == i * 3 + 1);
  OK(cudaMemcpyFromSymbol(&count, calls, 4));
  EXPECT(count == 32);
  OK(cudaFree(x));
  puts("right");
}
