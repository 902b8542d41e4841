// Parameters read by name, conversions to 64 bits, and selections of them.
extern "C" __global__ void k(long long *o, float2 *f, double2 *d, int s, float2 v, double2 w) {
    int i = threadIdx.x, p;
    float a, b;
    double x, y;
    asm volatile("ld.param.s32 %0, [k_param_3];" : "=r"(p));
    asm volatile("ld.param.v2.f32 {%0, %1}, [k_param_4];" : "=f"(a), "=f"(b));
    asm volatile("ld.param.v2.f64 {%0, %1}, [k_param_5];" : "=d"(x), "=d"(y));
    long long *q = o + 5 * i;
    short h = (short)(i - 5);
    asm("cvt.s64.s16 %0, %1;" : "=l"(q[0]) : "h"(h));
    asm("cvt.s64.s8 %0, %1;" : "=l"(q[1]) : "h"(h));
    asm("{\n\t.reg .pred p;\n\tsetp.gt.s32 p, %1, 9;\n\tselp.u64 %0, %2, 7, p;\n\t}" : "=l"(q[2]) : "r"(i), "l"(3ll * i));
    asm("{\n\t.reg .pred p;\n\tsetp.ge.u64 p, %1, 20;\n\tselp.u64 %0, 1, 0, p;\n\t}" : "=l"(q[3]) : "l"((long long)i));
    q[4] = p;
    f[i] = make_float2(i * a - 2.0f, i + b);
    d[i] = make_double2(i + x, i * y);
    if (s != p || v.x != a || w.y != y) q[4] = 0;
}
