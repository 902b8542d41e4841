// Integer instructions that C++ has no name for.
extern "C" __global__ void k(unsigned *o, unsigned long long *l, const unsigned *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned a = x[i], b = x[(i + 1) % n], c = x[(i + 2) % n], *p = o + 48 * i;
    unsigned long long w = (unsigned long long)a << 32 | b;
#define ONE(at, text, ...) asm volatile(text : "=r"(p[at]) : __VA_ARGS__)
    ONE(0, "bfe.u32 %0, %1, %2, %3;", "r"(a), "r"(b & 63), "r"(c & 63)); ONE(1, "bfe.s32 %0, %1, %2, %3;", "r"(a), "r"(b & 63), "r"(c & 63));
    ONE(2, "bfi.b32 %0, %1, %2, %3, %4;", "r"(a), "r"(b), "r"(c & 31), "r"(b & 31)); ONE(3, "bfind.u32 %0, %1;", "r"(a)); ONE(4, "bfind.s32 %0, %1;", "r"(a));
    ONE(5, "bmsk.clamp.b32 %0, %1, %2;", "r"(b & 63), "r"(c & 63)); ONE(6, "cnot.b32 %0, %1;", "r"(a)); ONE(7, "szext.clamp.u32 %0, %1, %2;", "r"(a), "r"(c & 63)); ONE(8, "szext.wrap.s32 %0, %1, %2;", "r"(a), "r"(c & 63));
    ONE(9, "dp4a.s32.s32 %0, %1, %2, %3;", "r"(a), "r"(b), "r"(c)); ONE(10, "dp4a.s32.u32 %0, %1, %2, %3;", "r"(a), "r"(b), "r"(c)); ONE(11, "dp4a.u32.s32 %0, %1, %2, %3;", "r"(a), "r"(b), "r"(c)); ONE(12, "dp4a.u32.u32 %0, %1, %2, %3;", "r"(a), "r"(b), "r"(c));
    ONE(13, "dp2a.hi.s32.s32 %0, %1, %2, %3;", "r"(a), "r"(b), "r"(c)); ONE(14, "dp2a.hi.s32.u32 %0, %1, %2, %3;", "r"(a), "r"(b), "r"(c)); ONE(15, "dp2a.lo.s32.s32 %0, %1, %2, %3;", "r"(a), "r"(b), "r"(c)); ONE(16, "dp2a.lo.u32.u32 %0, %1, %2, %3;", "r"(a), "r"(b), "r"(c));
    ONE(17, "prmt.b32.f4e %0, %1, %2, %3;", "r"(a), "r"(b), "r"(c)); ONE(18, "prmt.b32.b4e %0, %1, %2, %3;", "r"(a), "r"(b), "r"(c)); ONE(19, "prmt.b32.rc8 %0, %1, %2, %3;", "r"(a), "r"(b), "r"(c)); ONE(20, "prmt.b32.ecl %0, %1, %2, %3;", "r"(a), "r"(b), "r"(c)); ONE(21, "prmt.b32.ecr %0, %1, %2, %3;", "r"(a), "r"(b), "r"(c)); ONE(22, "prmt.b32.rc16 %0, %1, %2, %3;", "r"(a), "r"(b), "r"(c));
    ONE(23, "add.sat.s32 %0, %1, %2;", "r"(a), "r"(b)); ONE(24, "sub.sat.s32 %0, %1, %2;", "r"(a), "r"(b)); ONE(25, "mad.hi.sat.s32 %0, %1, %2, %3;", "r"(a), "r"(b), "r"(c)); ONE(26, "mad.hi.s32 %0, %1, %2, %3;", "r"(a), "r"(b), "r"(c)); ONE(27, "mad.lo.u32 %0, %1, %2, %3;", "r"(a), "r"(b), "r"(c));
    ONE(28, "mad24.lo.s32 %0, %1, %2, %3;", "r"(a), "r"(b), "r"(c)); ONE(29, "mul24.hi.s32 %0, %1, %2;", "r"(a), "r"(b)); ONE(30, "slct.s32.s32 %0, %1, %2, %3;", "r"(a), "r"(b), "r"(c)); ONE(31, "slct.u32.f32 %0, %1, %2, %3;", "r"(a), "r"(b), "f"(__int_as_float(c & 0xBFFFFFFF)));
    ONE(32, "lop3.b32 %0, %1, %2, %3, 0x96;", "r"(a), "r"(b), "r"(c)); ONE(33, "cvt.pack.sat.s16.s32 %0, %1, %2;", "r"(a), "r"(b)); ONE(34, "cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;", "r"(a), "r"(b), "r"(c)); ONE(35, "cvt.sat.s8.s32 %0, %1;", "r"(a)); ONE(36, "cvt.sat.u8.s32 %0, %1;", "r"(a)); ONE(37, "cvt.sat.s32.s64 %0, %1;", "l"(w));
    ONE(38, "{\n\t.reg .pred q, r;\n\tsetp.ne.b32 q, %2, 0;\n\tlop3.or.b32 %0|r, %1, %2, %3, 0x80, !q;\n\t@r add.u32 %0, %0, 1;\n\t}", "r"(a), "r"(b), "r"(c));
    ONE(39, "{\n\t.reg .s16 a, b, c, d;\n\tcvt.u16.u32 a, %1;\n\tcvt.u16.u32 b, %2;\n\tcvt.u16.u32 c, %3;\n\tmad.lo.s16 d, a, b, c;\n\tmul.hi.s16 a, a, b;\n\tshr.s16 c, c, 3;\n\tmin.s16 b, b, c;\n\tmax.u16 a, a, b;\n\tadd.s16 d, d, a;\n\tmul.wide.s16 %0, d, b;\n\tmad.wide.s16 %0, a, c, %0;\n\t}", "r"(a), "r"(b), "r"(c));
    ONE(40, "{\n\t.reg .b16 t;\n\tcvt.sat.u16.s64 t, %1;\n\tcvt.u32.u16 %0, t;\n\t}", "l"(w)); ONE(41, "set.lt.u32.s32 %0, %1, %2;", "r"(a), "r"(b)); ONE(42, "{\n\t.reg .s32 t;\n\tmov.s32 t, %1;\n\tselp.s32 %0, t, %2, 1;\n\t}", "r"(a), "r"(b));
    ONE(43, "{\n\t.reg .pred p, q;\n\tsetp.lt.u32 q, %2, %3;\n\tsetp.eq.or.u32 p, %1, %2, q;\n\tsetp.ge.and.s32 q, %2, %3, p;\n\tsetp.gt.and.u32 p, %1, %3, q;\n\tselp.u32 %0, 2, 0, q;\n\t@p add.u32 %0, %0, 1;\n\t}", "r"(a), "r"(b), "r"(c));
#if __CUDA_ARCH__ >= 900
    ONE(44, "add.u16x2 %0, %1, %2;", "r"(a), "r"(b)); ONE(45, "max.s16x2 %0, %1, %2;", "r"(a), "r"(b));
#else
    p[44] = (a + b & 0xFFFF) | (a & 0xFFFF0000) + (b & 0xFFFF0000); p[45] = max((short)a, (short)b) & 0xFFFF | (unsigned)max((int)a >> 16, (int)b >> 16) << 16;
#endif
    ONE(46, "add.u32 %0, %1, %2;", "r"(a), "r"(b)); ONE(47, "{\n\t.reg .pred p;\n\tsetp.eq.u32 p, %1, %2;\n\tselp.u32 %0, 7, 9, p;\n\t}", "r"(a & 3), "r"(b & 3));
    asm("bfe.u64 %0, %1, %2, %3;" : "=l"(l[5 * i]) : "l"(w), "r"(b & 63), "r"(c & 63)); asm("bfi.b64 %0, %1, %2, %3, %4;" : "=l"(l[5 * i + 1]) : "l"(w), "l"(~w), "r"(b & 31), "r"(c & 31));
    asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(l[5 * i + 2]) : "r"(a), "r"(b), "l"(w)); asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(l[5 * i + 3]) : "r"(a), "r"(b), "l"(w)); asm("mad.lo.s64 %0, %1, %2, %3;" : "=l"(l[5 * i + 4]) : "l"(w), "l"(w), "l"(~w));
}
