// Sums of floats of all sizes by atomics; multiples of a power of two, so that their order does not matter.
#include <cuda_fp16.h>
extern "C" __global__ void k(float *f, double *d, __half2 *h, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(f + i % 3, x[i]);
    float old = atomicAdd(f + 3, 1.0f);
    f[4 + (int)old] = 2.0f;
    atomicAdd(d + i % 2, (double)x[i] * 0.125);
    double was = atomicAdd(d + 2, 1.0);
    d[3 + (int)was] = 3.0;
    atomicAdd(h + i % 4, __floats2half2_rn(0.25f, 1.0f));
}
