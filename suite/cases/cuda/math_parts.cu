// Remainders, exponents, neighbours, classes and signs.
extern "C" __global__ void k(float *f, double *d, int *o, const float *x, const double *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = x[i], b = x[(i + 1) % n], *p = f + 12 * i;
    double u = y[i], v = y[(i + 1) % n], *q = d + 8 * i;
    int e, g, *z = o + 10 * i;
    p[0] = fmodf(a, b); p[1] = remainderf(a, b); p[2] = frexpf(a, &e); p[3] = ldexpf(a, i % 20 - 10); p[4] = nextafterf(a, b); p[5] = copysignf(a, b); p[6] = fminf(a, b); p[7] = fmaxf(a, b); p[8] = fdimf(a, b); p[9] = roundf(a); p[10] = truncf(a); p[11] = rintf(b);
    q[0] = fmod(u, v); q[1] = frexp(u, &g); q[2] = ldexp(u, i % 50 - 25); q[3] = copysign(u, v); q[4] = fmin(u, v); q[5] = fmax(u, v); q[6] = round(u); q[7] = -u;
    z[0] = e; z[1] = g; z[2] = isnan(a); z[3] = isinf(a) != 0; z[4] = signbit(a) != 0; z[5] = isfinite(u) != 0; z[6] = signbit(v) != 0; z[7] = __float_as_int(a); z[8] = __double2hiint(u); z[9] = __double2loint(v);
}
