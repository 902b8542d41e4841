// Approximate functions, within the bounds that the manual gives.
#include <cuda_fp16.h>
extern "C" __global__ void k(float *o, __half2 *h, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = x[i], p = fabsf(a) + 0.01f, *r = o + 14 * i;
    r[0] = __sinf(a); r[1] = __cosf(a); r[2] = __expf(a); r[3] = __logf(p); r[4] = __fdividef(a, p); r[5] = rsqrtf(p); r[6] = __powf(p, 1.5f); r[7] = exp2f(a); r[8] = log2f(p); r[9] = __exp10f(a * 0.5f);
    asm("tanh.approx.f32 %0, %1;" : "=f"(r[10]) : "f"(a)); asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r[11]) : "f"(p)); asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r[12]) : "f"(p)); asm("div.full.f32 %0, %1, %2;" : "=f"(r[13]) : "f"(a), "f"(p));
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r[5]) : "f"(p)); asm("ex2.approx.f32 %0, %1;" : "=f"(r[7]) : "f"(a)); asm("div.approx.f32 %0, %1, %2;" : "=f"(r[4]) : "f"(a), "f"(p));
    unsigned u;
    __half2 w = __floats2half2_rn(a, -a);
    asm("ex2.approx.f16x2 %0, %1;" : "=r"(u) : "r"(*(unsigned *)&w));
    h[i] = *(__half2 *)&u;
}
