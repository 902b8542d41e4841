// Arithmetic in the four rounding directions.
extern "C" __global__ void k(float *f, double *g, const float *x, const double *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = x[i], b = x[(i + 1) % n], c = x[(i + 2) % n];
    double d = y[i], e = y[(i + 1) % n];
    float *o = f + 24 * i;
    double *p = g + 12 * i;
    o[0] = __fadd_rn(a, b); o[1] = __fadd_rz(a, b); o[2] = __fadd_rd(a, b); o[3] = __fadd_ru(a, b);
    o[4] = __fmul_rn(a, b); o[5] = __fmul_rz(a, b); o[6] = __fmul_rd(a, b); o[7] = __fmul_ru(a, b);
    o[8] = __fdiv_rn(a, b); o[9] = __fdiv_rz(a, b); o[10] = __fdiv_rd(a, b); o[11] = __fdiv_ru(a, b);
    o[12] = __fmaf_rn(a, b, c); o[13] = __fmaf_rz(a, b, c); o[14] = __fmaf_rd(a, b, c); o[15] = __fmaf_ru(a, b, c);
    a = fabsf(a);
    o[16] = __fsqrt_rn(a); o[17] = __fsqrt_rz(a); o[18] = __fsqrt_rd(a); o[19] = __fsqrt_ru(a);
    o[20] = __frcp_rn(a); o[21] = __frcp_rz(a); o[22] = __fsub_rn(a, b); o[23] = __fsub_ru(a, b);
    p[0] = __dadd_rn(d, e); p[1] = __dadd_ru(d, e); p[2] = __dmul_rz(d, e); p[3] = __dmul_rn(d, e);
    p[4] = __ddiv_rn(d, e); p[5] = __ddiv_ru(d, e); p[6] = __fma_rn(d, e, d); p[7] = __dadd_rz(d, e);
    d = fabs(d);
    p[8] = __dsqrt_rn(d); p[9] = __dsqrt_rd(d); p[10] = __drcp_rn(d); p[11] = __dsub_rd(d, e);
}
