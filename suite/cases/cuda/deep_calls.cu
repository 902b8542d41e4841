// Calls in loops and in divergent code, with results by pointer, and a call that only some lanes make.
__device__ __noinline__ void divide(int a, int b, int *quotient, int *rest) { *quotient = a / b; *rest = a % b; }
__device__ __noinline__ int digits(int x) { int n = 0; do { int q, r; divide(x, 10, &q, &r); x = q; n += r; } while (x); return n; }
__device__ __noinline__ unsigned mix(unsigned h, int depth) { return depth == 0 ? h : mix(h * 31 + depth, depth - 1) ^ h >> 3; }
__device__ __noinline__ int exchange(int v) { return __shfl_xor_sync(~0u, v, 1); }
extern "C" __global__ void k(int *o) {
    int i = threadIdx.x, sum = 0;
    for (int j = 0; j < i % 6; j++) sum += digits(i * 1000 + j);
    unsigned h = 0;
    if (i & 1) h = mix(i, i % 9); else if (i % 3 == 0) h = mix(i + 100, 2);
    o[3 * i] = sum; o[3 * i + 1] = h; o[3 * i + 2] = exchange(i);
}
