// Single precision as `--use_fast_math` makes it: flushed, fused, approximate.
extern "C" __global__ void k(float *o, int *c, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = x[i], b = x[(i + 1) % n], *p = o + 8 * i;
    p[0] = a + b; p[1] = a * b; p[2] = a * b + a; p[3] = a / b; p[4] = sqrtf(fabsf(a)); p[5] = expf(a); p[6] = fmaxf(a, b) - fminf(a, b); p[7] = sinf(a) + cosf(b);
    c[i] = (a < b) + 2 * (a == 0.0f) + 4 * (a > 1e-39f) + 8 * (int)a;
}
