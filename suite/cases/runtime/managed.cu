// Memory that both sides use, by allocation and by declaration; what an address is.
#include "check.h"

__managed__ int total = 5;
__managed__ float table[100];
__device__ int plain;

__global__ void fill(float *x, int n) {
  int i = threadIdx.x;
  if (i < n) x[i] = table[i] + i;
  atomicAdd(&total, 1);
}

int main() {
  EXPECT(total == 5);
  for (int i = 0; i < 100; i++) table[i] = 1000;
  float *x;
  OK(cudaMallocManaged(&x, 100 * 4));
  for (int i = 0; i < 100; i++) x[i] = -1;
  fill<<<1, 128>>>(x, 100);
  OK(cudaDeviceSynchronize());
  for (int i = 0; i < 100; i++) EXPECT(x[i] == 1000 + i);
  EXPECT(total == 133);
  total = 1;
  fill<<<1, 64>>>(x, 3);
  OK(cudaDeviceSynchronize());
  EXPECT(total == 65);
  cudaPointerAttributes at;
  OK(cudaPointerGetAttributes(&at, x + 3));
  EXPECT(at.type == cudaMemoryTypeManaged && at.devicePointer == x + 3 && at.hostPointer == x + 3);
  void *card, *locked;
  int own;
  OK(cudaMalloc(&card, 16));
  OK(cudaMallocHost(&locked, 16));
  OK(cudaPointerGetAttributes(&at, card));
  EXPECT(at.type == cudaMemoryTypeDevice && at.device == 0 && at.devicePointer == card && !at.hostPointer);
  OK(cudaPointerGetAttributes(&at, locked));
  EXPECT(at.type == cudaMemoryTypeHost && at.hostPointer == locked);
  OK(cudaPointerGetAttributes(&at, &own));
  EXPECT(at.type == cudaMemoryTypeUnregistered);
  void *there;
  OK(cudaGetSymbolAddress(&there, plain));
  OK(cudaPointerGetAttributes(&at, there));
  EXPECT(at.type == cudaMemoryTypeDevice);
  OK(cudaMemset(x, 0, 400));
  EXPECT(x[99] == 0);
  std::vector<int> numbers(256, 7);
  OK(cudaHostRegister(numbers.data(), 1024, cudaHostRegisterDefault));
  IS(cudaHostRegister(numbers.data(), 1024, cudaHostRegisterDefault), cudaErrorHostMemoryAlreadyRegistered);
  OK(cudaPointerGetAttributes(&at, numbers.data()));
  EXPECT(at.type == cudaMemoryTypeHost);
  OK(cudaHostUnregister(numbers.data()));
  OK(cudaFree(x));
  OK(cudaFree(card));
  OK(cudaFreeHost(locked));
  puts("right");
}
