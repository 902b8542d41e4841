// Sums and products of 128 and 256 bits: carries.
extern "C" __global__ void k(unsigned *o, unsigned long long *l, const unsigned *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned *a = x + 16 * i, *b = a + 8;
    unsigned *s = o + 24 * i, *d = s + 8, *m = d + 8;
    asm("add.cc.u32 %0, %8, %16;\n\taddc.cc.u32 %1, %9, %17;\n\taddc.cc.u32 %2, %10, %18;\n\taddc.cc.u32 %3, %11, %19;\n\t"
        "addc.cc.u32 %4, %12, %20;\n\taddc.cc.u32 %5, %13, %21;\n\taddc.cc.u32 %6, %14, %22;\n\taddc.u32 %7, %15, %23;"
        : "=r"(s[0]), "=r"(s[1]), "=r"(s[2]), "=r"(s[3]), "=r"(s[4]), "=r"(s[5]), "=r"(s[6]), "=r"(s[7])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]));
    asm("sub.cc.u32 %0, %4, %8;\n\tsubc.cc.u32 %1, %5, %9;\n\tsubc.cc.u32 %2, %6, %10;\n\tsubc.u32 %3, %7, %11;"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]));
    d[4] = d[5] = d[6] = d[7] = 0;
    // (a1 a0) * (b1 b0) by halves.
    asm("{\n\tmul.lo.u32 %0, %4, %6;\n\tmul.hi.u32 %1, %4, %6;\n\tmad.lo.cc.u32 %1, %4, %7, %1;\n\tmadc.hi.u32 %2, %4, %7, 0;\n\t"
        "mad.lo.cc.u32 %1, %5, %6, %1;\n\tmadc.hi.cc.u32 %2, %5, %6, %2;\n\taddc.u32 %3, 0, 0;\n\tmad.lo.cc.u32 %2, %5, %7, %2;\n\tmadc.hi.u32 %3, %5, %7, %3;\n\t}"
        : "=&r"(m[0]), "=&r"(m[1]), "=&r"(m[2]), "=&r"(m[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]));
    asm("mad.hi.cc.u32 %0, %2, %3, %4;\n\tmadc.lo.cc.u32 %1, %2, %3, %4;\n\tmadc.hi.cc.u32 %1, %1, %3, 5;" : "=&r"(m[4]), "=&r"(m[5]) : "r"(a[2]), "r"(b[2]), "r"(a[3]));
    m[6] = m[7] = 0;
    unsigned long long lo = (unsigned long long)a[1] << 32 | a[0], hi = (unsigned long long)a[3] << 32 | a[2];
    unsigned long long lo2 = (unsigned long long)b[1] << 32 | b[0], hi2 = (unsigned long long)b[3] << 32 | b[2];
    asm("add.cc.u64 %0, %2, %4;\n\taddc.u64 %1, %3, %5;" : "=l"(l[2 * i]), "=l"(l[2 * i + 1]) : "l"(lo), "l"(hi), "l"(lo2), "l"(hi2));
}
