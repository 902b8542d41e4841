// The library's functions of doubles.
extern "C" __global__ void k(double *o, const double *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double a = x[i], p = fabs(a) + 0.125, *r = o + 15 * i;
    r[0] = sin(a); r[1] = cos(a); r[2] = tan(a * 0.25); r[3] = exp(a); r[4] = log(p); r[5] = pow(p, a); r[6] = tanh(a); r[7] = atan(a);
    r[8] = erf(a); r[9] = cbrt(a); r[10] = hypot(a, 2.0); r[11] = rsqrt(p); r[12] = asin(a * 0.1); r[13] = log10(p); r[14] = tgamma(p);
}
