// Functions chosen by data, with results of many kinds, called from a function that was itself called by pointer.
typedef double (*Step)(double, int);
typedef void (*Each)(int *, int, Step);
__device__ __noinline__ double half(double x, int) { return x / 2; }
__device__ __noinline__ double more(double x, int n) { return x + n; }
__device__ __noinline__ double loop(double x, int n) { for (int i = 0; i < n % 4; i++) x = x * 2 - 1; return x; }
__device__ __noinline__ void forward(int *a, int n, Step s) { for (int i = 0; i < n; i++) a[i] = (int)s(a[i], i); }
__device__ __noinline__ void backward(int *a, int n, Step s) { for (int i = n - 1; i >= 0; i--) a[i] += (int)s(i, a[i] & 7); }
__constant__ Step steps[3] = {half, more, loop};
__device__ Each each[2] = {forward, backward};
extern "C" __global__ void k(int *o) {
    int i = threadIdx.x, a[6];
    for (int j = 0; j < 6; j++) a[j] = i + j * j;
    each[i / 3 & 1](a, 6, steps[i % 3]);
    for (int j = 0; j < 6; j++) o[6 * i + j] = a[j];
}
