// bfloat16, alone and in pairs.
#include <cuda_bf16.h>
extern "C" __global__ void k(__nv_bfloat16 *o, __nv_bfloat162 *p, float *f, const __nv_bfloat16 *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __nv_bfloat16 a = x[i], b = x[(i + 1) % n], c = x[(i + 2) % n];
    __nv_bfloat162 u = __halves2bfloat162(a, b), v = __halves2bfloat162(b, c), w = __halves2bfloat162(c, a);
    __nv_bfloat16 *r = o + 9 * i;
    r[0] = __hadd(a, b); r[1] = __hmul(a, b); r[2] = __hneg(a); r[3] = __habs(a); r[4] = __hmax(a, b); r[5] = __hmin(a, b); r[6] = __hfma(a, b, c);
    r[7] = __float2bfloat16_rn(__bfloat162float(a) / 3.0f); r[8] = __float2bfloat16_rz(__bfloat162float(a) / 3.0f);
    __nv_bfloat162 *t = p + 5 * i;
    t[0] = __hadd2(u, v); t[1] = __hmul2(u, v); t[2] = __hsub2(u, v); t[3] = __hfma2_relu(u, v, w);
    t[4] = __floats2bfloat162_rn(__bfloat162float(a) * 0.3f, __bfloat162float(b) * 0.3f);
    f[i] = __bfloat162float(a) + __bfloat162float(__hsub(b, c));
}
