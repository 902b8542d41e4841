// Assertions that hold, and a trap that nobody comes to.
__device__ __noinline__ int checked(int x, int limit) {
    if (x >= limit) __assertfail("x < limit", "assertions.cu", 3, "checked", 1);
    return x * 2;
}
extern "C" __global__ void k(int *o, int limit) {
    int i = threadIdx.x;
    if (limit < 0) __trap();
    o[i] = checked(i, limit);
}
