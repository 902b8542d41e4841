// Comparisons of floats, ordered and not, of doubles, and of wide integers.
template <class T> __device__ int all(T a, T b) {
    int r = 0;
    if (a < b) r |= 1; if (a <= b) r |= 2; if (a > b) r |= 4; if (a >= b) r |= 8; if (a == b) r |= 16; if (a != b) r |= 32;
    if (!(a < b)) r |= 64; if (!(a <= b)) r |= 128; if (!(a > b)) r |= 256; if (!(a >= b)) r |= 512;
    return r;
}
template <class T> __device__ T pick(T a, T b) { return !(a < b) ? a : !(a > b + 1) ? b - a : a + b; }
#define SETP(T, R, c) "setp." c "." T " p, %1, %2;\n\tshl.b32 %0, %0, 1;\n\t@p add.s32 %0, %0, 1;\n\t"
#define ALL(T, R) SETP(T, R, "eq") SETP(T, R, "lt") SETP(T, R, "le") SETP(T, R, "gt") SETP(T, R, "ge") SETP(T, R, "neu") SETP(T, R, "ltu") SETP(T, R, "leu") SETP(T, R, "gtu") SETP(T, R, "geu") SETP(T, R, "nan") SETP(T, R, "num")
extern "C" __global__ void k(int *o, float *f, double *d, const float *x, const double *y, const long long *z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int j = (i * 5 + 1) % n, s = 0, t = 0;
    o[6 * i] = all(x[i], x[j]); o[6 * i + 1] = all(y[i], y[j]); o[6 * i + 2] = all(z[i], z[j]); o[6 * i + 3] = all((unsigned long long)z[i], (unsigned long long)z[j]);
    asm("{\n\t.reg .pred p;\n\tmov.u32 %0, 0;\n\t" ALL("f32", "f") "}" : "=&r"(s) : "f"(x[i]), "f"(x[j]));
    asm("{\n\t.reg .pred p;\n\tmov.u32 %0, 0;\n\t" ALL("f64", "d") "}" : "=&r"(t) : "d"(y[i]), "d"(y[j]));
    o[6 * i + 4] = s; o[6 * i + 5] = t;
    f[i] = pick(x[i], x[j]);
    d[i] = pick(y[i], y[j]) - (z[i] < z[j] ? y[i] : -y[j]);
}
