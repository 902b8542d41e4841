// Templates and lambdas: a tree of sums, extremes and counts over shared memory with one function.
template <class T, class F> __device__ T fold(T *s, T v, F f) {
    int i = threadIdx.x;
    s[i] = v;
    for (int d = blockDim.x / 2; d > 0; d /= 2) { __syncthreads(); if (i < d) s[i] = f(s[i], s[i + d]); }
    __syncthreads();
    T r = s[0];
    __syncthreads();
    return r;
}
struct Pair { float value; int at; };
extern "C" __global__ void k(float *f, int *o, const float *x) {
    __shared__ float s[128];
    __shared__ int t[128];
    __shared__ Pair p[128];
    float v = x[blockIdx.x * 128 + threadIdx.x];
    f[2 * blockIdx.x] = fold(s, v, [](float a, float b) { return a + b; });
    f[2 * blockIdx.x + 1] = fold(s, v, [](float a, float b) { return fmaxf(a, b); });
    o[2 * blockIdx.x] = fold(t, v > 0 ? 1 : 0, [](int a, int b) { return a + b; });
    o[2 * blockIdx.x + 1] = fold(p, Pair{v, (int)threadIdx.x}, [](Pair a, Pair b) { return a.value < b.value || (a.value == b.value && a.at < b.at) ? a : b; }).at;
}
