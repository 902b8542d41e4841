// Arithmetic and comparisons of half precision, alone and in pairs.
#include <cuda_fp16.h>
extern "C" __global__ void k(__half *o, __half2 *p, int *q, float *f, const __half *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half a = x[i], b = x[(i + 1) % n], c = x[(i + 2) % n];
    __half2 u = __halves2half2(a, b), v = __halves2half2(b, c), w = __halves2half2(c, a);
    __half *r = o + 12 * i;
    r[0] = __hadd(a, b); r[1] = __hmul(a, b); r[2] = __hneg(a); r[3] = __habs(b); r[4] = __hsub(a, c); r[5] = __hfma(a, b, c);
    r[6] = __float2half_rn(__half2float(a) * 1.0009765625f); r[7] = __float2half_rz(__half2float(b) / 3.0f); r[8] = __float2half_rd(__half2float(b) / 3.0f); r[9] = __float2half_ru(__half2float(b) / 3.0f);
    r[10] = __int2half_rn(i * 37); r[11] = __ll2half_rz(i * 1001ll);
    __half2 *t = p + 8 * i;
    t[0] = __hadd2(u, v); t[1] = __hmul2(u, v); t[2] = __hsub2(u, w); t[3] = __hfma2(u, v, w); t[4] = __hneg2(u); t[5] = __habs2(v); t[6] = __hfma2_sat(u, v, w);
    t[7] = __floats2half2_rn(__half2float(a) * 0.1f, __half2float(c) * 0.1f);
    int *z = q + 8 * i;
    z[0] = __hlt(a, b); z[1] = __hgt(a, b); z[2] = __half2int_rn(a); z[3] = __half2ushort_rz(__habs(a));
    unsigned e, g, h;
    asm("set.eq.u32.f16x2 %0, %1, %2;" : "=r"(e) : "r"(*(unsigned *)&u), "r"(*(unsigned *)&v));
    asm("set.ge.u32.f16x2 %0, %1, %2;" : "=r"(g) : "r"(*(unsigned *)&u), "r"(*(unsigned *)&v));
    asm("set.lt.u32.f16x2 %0, %1, %2;" : "=r"(h) : "r"(*(unsigned *)&u), "r"(*(unsigned *)&v));
    z[4] = e; z[5] = g; z[6] = h;
    unsigned short nan;
    asm("set.nan.f16.f16 %0, %1, %2;" : "=h"(nan) : "h"(*(unsigned short *)&a), "h"(*(unsigned short *)&b));
    z[7] = nan;
    f[i] = __half2float(a) + __low2float(u) + __high2float(v);
}
