// Every conversion between numbers that has a name.
extern "C" __global__ void k(int *o, long long *l, float *f, double *g, const float *x, const double *y, const int *a, const long long *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float u = x[i];
    double v = y[i];
    int s = a[i];
    long long t = b[i];
    int *p = o + 16 * i;
    p[0] = __float2int_rn(u); p[1] = __float2int_rz(u); p[2] = __float2int_rd(u); p[3] = __float2int_ru(u);
    p[4] = __float2uint_rn(u); p[5] = __float2uint_rz(u); p[6] = __float2uint_rd(u); p[7] = __float2uint_ru(u);
    p[8] = __double2int_rn(v); p[9] = __double2int_rz(v); p[10] = __double2uint_rd(v); p[11] = __double2uint_ru(v);
    p[12] = (short)fmaxf(fminf(u, 3e4f), -3e4f); p[13] = (unsigned char)fminf(fabsf(u), 255.0f); p[14] = (signed char)s; p[15] = (unsigned short)t;
    long long *q = l + 12 * i;
    q[0] = __float2ll_rn(u); q[1] = __float2ll_rz(u); q[2] = __float2ll_rd(u); q[3] = __float2ll_ru(u);
    q[4] = __float2ull_rn(fabsf(u)); q[5] = __float2ull_rz(fabsf(u)); q[6] = __float2ull_rd(fabsf(u)); q[7] = __float2ull_ru(fabsf(u));
    q[8] = __double2ll_rn(v); q[9] = __double2ll_rz(v); q[10] = __double2ull_rd(fabs(v)); q[11] = __double2ull_ru(fabs(v));
    float *r = f + 20 * i;
    r[0] = __int2float_rn(s); r[1] = __int2float_rz(s); r[2] = __int2float_rd(s); r[3] = __int2float_ru(s);
    r[4] = __uint2float_rn(s); r[5] = __uint2float_rz(s); r[6] = __ll2float_rn(t); r[7] = __ll2float_ru(t);
    r[8] = __ull2float_rd(t); r[9] = __double2float_rn(v); r[10] = __double2float_rz(v); r[11] = __double2float_rd(v);
    r[12] = __double2float_ru(v); r[13] = rintf(u); r[14] = truncf(u); r[15] = floorf(u); r[16] = ceilf(u);
    r[17] = __saturatef(u); r[18] = (float)(unsigned short)s; r[19] = (float)(unsigned char)s;
    double *w = g + 10 * i;
    w[0] = s; w[1] = (unsigned)s; w[2] = t; w[3] = __ull2double_rz(t); w[4] = u; w[5] = (double)(short)s;
    w[6] = rint(v); w[7] = trunc(v); w[8] = floor(v); w[9] = ceil(v);
}
