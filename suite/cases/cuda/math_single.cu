// The library's functions of floats.
extern "C" __global__ void k(float *o, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = x[i], p = fabsf(a) + 0.125f, *r = o + 18 * i;
    r[0] = sinf(a); r[1] = cosf(a); r[2] = tanf(a * 0.25f); r[3] = expf(a); r[4] = logf(p); r[5] = powf(p, a); r[6] = tanhf(a); r[7] = atanf(a); r[8] = asinf(a * 0.1f);
    r[9] = erff(a); r[10] = cbrtf(a); r[11] = hypotf(a, 2.0f); r[12] = expm1f(a); r[13] = log1pf(p); r[14] = sinhf(a); r[15] = atan2f(a, 0.5f); r[16] = lgammaf(p); r[17] = normcdff(a);
}
