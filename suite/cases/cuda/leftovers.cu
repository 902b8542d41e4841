// Loads and stores of shapes that the compiler seldom chooses; branches through a table; early exits.
__constant__ unsigned short words[8] = {1, 2, 3, 60000, 5, 6, 7, 8};
extern "C" __global__ void k(int *o, const short *s, const unsigned short *u, const double *d, const unsigned long long *l, const int *w, unsigned short *h, float *f, double *e, int sel) {
    __shared__ __align__(16) int sh[256];
    int i = threadIdx.x, a, b, c, t;
    unsigned at = (unsigned)__cvta_generic_to_shared(sh + 8 * i);
    unsigned short p, q, r, v;
    int *z = o + 16 * i;
    asm volatile("{\n\t.reg .b16 t;\n\tld.global.s16 t, [%1];\n\tcvt.s32.s16 %0, t;\n\t}" : "=r"(z[0]) : "l"(s + i));
    asm volatile("ld.global.v2.u16 {%0, %1}, [%2];" : "=h"(p), "=h"(q) : "l"(u + 2 * i));
    asm volatile("ld.global.v2.b16 {%0, %1}, [%2];" : "=h"(r), "=h"(v) : "l"(u + 2 * i));
    z[1] = p + q * 3; z[2] = r ^ v;
    double x, y;
    asm volatile("ld.global.v2.f64 {%0, %1}, [%2];" : "=d"(x), "=d"(y) : "l"(d + 2 * i));
    double x2, y2;
    asm volatile("ld.global.nc.v2.f64 {%0, %1}, [%2];" : "=d"(x2), "=d"(y2) : "l"(d + 2 * i));
    unsigned long long m, n, g;
    asm volatile("ld.global.nc.v2.b64 {%0, %1}, [%2];" : "=l"(m), "=l"(n) : "l"(l + 2 * i));
    asm volatile("ld.global.nc.u64 %0, [%1];" : "=l"(g) : "l"(l + 2 * i));
    int c4[4];
    asm volatile("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(c4[0]), "=r"(c4[1]), "=r"(c4[2]), "=r"(c4[3]) : "l"(w + 4 * i));
    z[3] = (int)(x + y + x2 * y2); z[4] = (int)(m + n * 2 + g); z[5] = c4[0] - c4[1] + c4[2] * c4[3];
    asm volatile("st.global.v4.b16 [%0], {%1, %2, %3, %4};" ::"l"(h + 4 * i), "h"(p), "h"(q), "h"(r), "h"((unsigned short)i) : "memory");
    asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(f + 2 * i), "f"((float)i), "f"(0.5f) : "memory");
    asm volatile("st.global.v2.f64 [%0], {%1, %2};" ::"l"(e + 2 * i), "d"((double)i), "d"(0.25) : "memory");
    asm volatile("st.shared.v2.b16 [%0], {%1, %2};\n\tst.shared.v2.b32 [%0+8], {%3, %4};\n\tst.shared.v2.u8 [%0+4], {%1, %2};\n\tst.shared::cta.b32 [%0+28], %3;" ::"r"(at), "h"(p), "h"(q), "r"(c4[0]), "r"(i) : "memory");
    asm volatile("st.shared.v4.f32 [%0+16], {%1, %1, %1, %1};\n\tst.shared::cta.b32 [%0+28], %2;" ::"r"(at & ~31u), "f"(1.0f), "r"(i + 7) : "memory");
    asm volatile("{\n\t.reg .b16 t, u;\n\tld.shared.s16 t, [%2];\n\tcvt.s32.s16 %0, t;\n\tld.shared.v2.u8 {t, u}, [%2+4];\n\tcvt.u32.u16 %1, u;\n\t}" : "=r"(z[6]), "=r"(z[7]) : "r"(at) : "memory");
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2+8];" : "=r"(a), "=r"(b) : "r"(at) : "memory");
    float f0, f1, f2, f3;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4+16];" : "=f"(f0), "=f"(f1), "=f"(f2), "=f"(f3) : "r"(at) : "memory");
    z[8] = a + b; z[9] = (int)(f0 + f1 + f2) + __float_as_int(f3);
#if __CUDA_ARCH__ >= 900
    asm volatile("red.shared::cluster.add.u32 [%1+12], 5;\n\tld.shared::cluster.s32 %0, [%1+12];" : "=r"(c) : "r"(at) : "memory");
#else
    c = i + 5;
#endif
    z[10] = c;
    unsigned short k16;
    unsigned long long where;
    asm volatile("{\n\t.reg .b64 t;\n\tcvta.const.u64 t, words;\n\tmov.b64 %0, t;\n\t}" : "=l"(where));
    asm volatile("ld.const.b16 %0, [words+6];" : "=h"(k16));
    z[11] = k16 + *(const unsigned short *)where + words[i & 7];
    asm volatile("{\n\t.reg .u32 r;\n\tmov.u32 r, 99;\n\tts: .branchtargets A, B, C;\n\tbrx.idx %1, ts;\n\tA: mov.u32 r, 10;\n\tbra.uni D;\n\tB: mov.u32 r, 20;\n\tbra.uni D;\n\tC: mov.u32 r, 30;\n\tD: mov.u32 %0, r;\n\t}" : "=r"(t) : "r"((i + sel) % 3));
    z[12] = t;
    asm volatile("{\n\t.local .align 16 .b8 own[64];\n\t.reg .b64 a;\n\t.reg .b16 x, y;\n\t.reg .f32 g, j;\n\t.reg .b32 r, s, m, n;\n\tmov.u64 a, own;\n\tcvt.u16.u32 x, %2;\n\tst.local.b16 [a], x;\n\tst.local.b8 [a+2], x;\n\tcvt.rn.f32.u32 g, %2;\n\tst.local.f32 [a+4], g;\n\tst.local.v2.b32 [a+8], {%2, %3};\n\tst.local.v2.f32 [a+16], {g, g};\n\tst.local.v4.u16 [a+24], {x, x, x, x};\n\t"
                 "ld.local.b16 y, [a];\n\tld.local.f32 j, [a+20];\n\tld.local.v2.b32 {r, s}, [a+8];\n\tadd.s32 %0, r, s;\n\tcvt.u32.u16 r, y;\n\tadd.s32 %0, %0, r;\n\tcvt.rzi.s32.f32 r, j;\n\tadd.s32 %0, %0, r;\n\tst.local.v4.b32 [a+32], {r, s, r, s};\n\tld.local.v4.b32 {r, s, m, n}, [a+32];\n\tadd.s32 %1, r, n;\n\tld.local.v4.u32 {r, s, m, n}, [a+16];\n\tadd.s32 %1, %1, m;\n\t}" : "=&r"(z[13]), "=&r"(z[14]) : "r"(i + 40), "r"(i * 2));
    z[15] = 5;
    if (sel > 1000) asm volatile("trap;");
    if (i == 7) asm volatile("exit;" ::: "memory");
    if (i == 8) asm volatile("ret.uni;" ::: "memory");
    z[15] = 6;
}
