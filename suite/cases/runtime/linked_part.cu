// The other file of linked.cu.
__device__ int calls;
__device__ int scale(int x) {
  atomicAdd(&calls, 1);
  return x * 3 + 1;
}
