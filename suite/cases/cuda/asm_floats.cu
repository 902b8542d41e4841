// Floating-point instructions that C++ has no name for.
extern "C" __global__ void k(float *f, int *o, double *d, const float *x, const double *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = x[i], b = x[(i + 1) % n], c = x[(i + 2) % n], *p = f + 16 * i;
    double u = y[i], v = y[(i + 1) % n];
    int *q = o + 16 * i;
#define F(at, text, ...) asm volatile(text : "=f"(p[at]) : __VA_ARGS__)
#define I(at, text, ...) asm volatile(text : "=r"(q[at]) : __VA_ARGS__)
    F(0, "add.sat.f32 %0, %1, %2;", "f"(a), "f"(b)); F(1, "fma.rn.sat.f32 %0, %1, %2, %3;", "f"(a), "f"(b), "f"(c)); F(2, "copysign.f32 %0, %1, %2;", "f"(a), "f"(b)); F(3, "add.ftz.f32 %0, %1, %2;", "f"(a), "f"(b));
    F(4, "sub.ftz.f32 %0, %1, %2;", "f"(a), "f"(b)); F(5, "mul.ftz.f32 %0, %1, %2;", "f"(a), "f"(b)); F(6, "fma.rn.ftz.f32 %0, %1, %2, %3;", "f"(a), "f"(b), "f"(c)); F(7, "abs.ftz.f32 %0, %1;", "f"(a)); F(8, "max.ftz.f32 %0, %1, %2;", "f"(a), "f"(b));
    F(9, "cvt.rp.sat.f32.f64 %0, %1;", "d"(u)); F(10, "mul.f32 %0, %1, %2;", "f"(a), "f"(c)); F(11, "mov.f32 %0, %1;", "f"(a)); F(12, "min.f32 %0, %1, %2;", "f"(a), "f"(b));
#if __CUDA_ARCH__ >= 800
    F(13, "max.NaN.f32 %0, %1, %2;", "f"(a), "f"(b)); F(14, "min.NaN.f32 %0, %1, %2;", "f"(a), "f"(b)); F(15, "min.ftz.NaN.f32 %0, %1, %2;", "f"(a), "f"(b));
#else
    p[13] = a != a || b != b ? __int_as_float(0x7FFFFFFF) : fmaxf(a, b); p[14] = p[15] = a != a || b != b ? __int_as_float(0x7FFFFFFF) : fminf(a, b);
    asm("add.ftz.f32 %0, %1, 0f80000000;" : "=f"(p[15]) : "f"(p[15]));
#endif
#define T(at, name) I(at, "{\n\t.reg .pred p;\n\ttestp." name ".f32 p, %1;\n\tselp.u32 %0, 1, 0, p;\n\t}", "f"(a))
    T(0, "finite"); T(1, "infinite"); T(2, "number"); T(3, "notanumber"); T(4, "normal"); T(5, "subnormal");
    float e = fminf(fmaxf(a, -100.0f), 100.0f);
    e = e == e ? e : 0.0f;
    I(6, "{\n\t.reg .s16 t;\n\tcvt.rmi.s16.f32 t, %1;\n\tcvt.s32.s16 %0, t;\n\t}", "f"(e)); I(7, "cvt.rni.s8.f32 %0, %1;", "f"(e)); I(8, "cvt.rni.sat.u32.f32 %0, %1;", "f"(a)); I(9, "{\n\t.reg .u16 t;\n\tcvt.rpi.u16.f32 t, %1;\n\tcvt.u32.u16 %0, t;\n\t}", "f"(fabsf(e)));
    I(10, "cvt.rzi.ftz.s32.f32 %0, %1;", "f"(e)); I(11, "cvt.rzi.u8.f32 %0, %1;", "f"(fabsf(e))); I(12, "{\n\t.reg .b16 t, s;\n\tcvt.u16.u32 s, %1;\n\tcvt.rp.f16.u16 t, s;\n\tcvt.u32.u16 %0, t;\n\t}", "r"(i * 997 & 0xFFFF));
    I(13, "{\n\t.reg .pred p, q;\n\tsetp.equ.ftz.f32 p, %1, %2;\n\tsetp.gt.ftz.f32 q, %1, %2;\n\tselp.u32 %0, 1, 0, p;\n\t@q add.u32 %0, %0, 2;\n\tsetp.eq.ftz.f32 p, %1, 0f00000000;\n\t@p add.u32 %0, %0, 4;\n\t}", "f"(a), "f"(b));
    I(14, "{\n\t.reg .u16 t;\n\tmov.u16 t, 12;\n\tcvt.u32.u16 %0, t;\n\t}", "f"(a)); q[15] = 0;
    asm("copysign.f64 %0, %1, %2;" : "=d"(d[4 * i]) : "d"(u), "d"(v)); asm("max.f64 %0, %1, %2;" : "=d"(d[4 * i + 1]) : "d"(u), "d"(v)); asm("min.f64 %0, %1, %2;" : "=d"(d[4 * i + 2]) : "d"(u), "d"(v)); asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(d[4 * i + 3]) : "d"(u));
}
