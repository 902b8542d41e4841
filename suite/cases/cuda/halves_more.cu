// Half precision that came with sm_80: extremes and rectified results.
#include <cuda_fp16.h>
extern "C" __global__ void k(__half2 *p, float *f, const __half *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half a = x[i], b = x[(i + 1) % n], c = x[(i + 2) % n];
    __half2 u = __halves2half2(a, b), v = __halves2half2(b, c), w = __halves2half2(c, a);
    __half2 *t = p + 6 * i;
    t[0] = __hmax2(u, v); t[1] = __hmin2(u, v); t[2] = __hmax2_nan(u, w); t[3] = __hfma2_relu(u, v, w);
    unsigned r;
    asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(__half2float(a) * 1.1f), "f"(__half2float(b) * 1.1f));
    t[4] = *(__half2 *)&r;
    t[5] = h2exp2(__hmin2(u, __floats2half2_rn(4.0f, 4.0f)));
    f[i] = __half2float(__hmax(a, b));
}
