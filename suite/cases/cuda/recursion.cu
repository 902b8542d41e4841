// Recursion with two calls, a sum over a binary tree of calls, and mutual recursion.
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ int odd(unsigned n);
__device__ __noinline__ int even(unsigned n) { return n == 0 ? 1 : odd(n - 1); }
__device__ __noinline__ int odd(unsigned n) { return n == 0 ? 0 : even(n - 1); }
__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}
extern "C" __global__ void k(int *out) {
    int i = threadIdx.x;
    out[3 * i] = fib(i % 13);
    out[3 * i + 1] = even(i);
    out[3 * i + 2] = ackermann(i % 3, i % 5);
}
