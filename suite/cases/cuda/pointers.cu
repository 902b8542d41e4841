// A table of functions in device memory, virtual functions, and a pointer chosen at run time.
typedef float (*Fn)(float, int);
__device__ __noinline__ float scale(float x, int n) { return x * n; }
__device__ __noinline__ float shift(float x, int n) { return x + n; }
__device__ __noinline__ float flip(float x, int n) { return n & 1 ? -x : x; }
__device__ Fn table[3] = {scale, shift, flip};
struct Base { int k; __device__ Base(int k) : k(k) {} __device__ virtual int go(int x) { return x - k; } };
struct Twice : Base { __device__ Twice(int k) : Base(k) {} __device__ int go(int x) override { return 2 * x + k; } };
__device__ __noinline__ int use(Base *b, int x) { return b->go(x); }
extern "C" __global__ void k(float *f, int *g, const float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    f[i] = table[i % 3](x[i], i % 7);
    Base base(i);
    Twice twice(i + 1);
    g[i] = use(i % 5 < 2 ? &base : &twice, i);
}
