// Video instructions on words, halves and bytes, with limits and second operations.
#define TWO(form, x, y) { unsigned d_; asm(form " %0, %1, %2;" : "=r"(d_) : "r"(x), "r"(y)); *o++ = d_; }
#define THREE(form, x, y, z) { unsigned d_; asm(form " %0, %1, %2, %3;" : "=r"(d_) : "r"(x), "r"(y), "r"(z)); *o++ = d_; }
extern "C" __global__ void k(unsigned *o, const unsigned *x, int n) {
    int i = threadIdx.x;
    unsigned a = x[i], b = x[(i + 1) % n], c = x[(i + 2) % n];
    o += i * 42;
    TWO("vadd.s32.s32.s32", a, b)
    TWO("vadd.s32.u32.s32.sat", a, b)
    THREE("vadd.s32.s32.s32.max", a, b, c)
    THREE("vadd.u32.u32.u32.sat.add", a, b, c)
    TWO("vsub.u32.u32.u32.sat", a, b)
    THREE("vsub.s32.u32.u32.min", a, b, c)
    TWO("vabsdiff.u32.s32.s32", a, b)
    THREE("vabsdiff.s32.u32.s32.sat.add", a, b, c)
    TWO("vmin.s32.s32.u32", a, b)
    THREE("vmax.u32.u32.s32.add", a, b, c)
    TWO("vshl.u32.u32.u32.clamp", a, b & 63)
    TWO("vshl.s32.s32.u32.sat.wrap", a, b)
    TWO("vshr.s32.s32.u32.clamp", a, b & 63)
    THREE("vshr.u32.u32.u32.wrap.add", a, b, c)
    THREE("vmad.s32.s32.u32", a, b, c)
    THREE("vmad.u32.u32.u32.sat", a, b, c)
    THREE("vmad.s32.s32.s32.sat", a & 0xFFFFF, b, c)
    TWO("vset.u32.s32.lt", a, b)
    THREE("vset.s32.s32.ge.add", a, b, c)
    THREE("vset.u32.u32.ne.max", a, b, c & 1)
    THREE("vadd2.s32.s32.s32.sat", a, b, c)
    THREE("vsub2.u32.u32.u32", a, b, c)
    THREE("vavrg2.s32.s32.s32", a, b, c)
    THREE("vabsdiff2.u32.s32.s32.add", a, b, c)
    THREE("vmin2.s32.s32.u32", a, b, c)
    THREE("vmax2.u32.u32.u32.add", a, b, c)
    THREE("vset2.s32.s32.le", a, b, c)
    THREE("vadd4.u32.u32.u32", a, b, c)
    THREE("vadd4.u32.s32.u32.sat", a, b, c)
    THREE("vadd4.u32.u32.u32.add", a, b, c)
    THREE("vsub4.s32.u32.u32.sat", a, b, c)
    THREE("vavrg4.u32.u32.u32", a, b, c)
    THREE("vabsdiff4.u32.u32.u32.add", a, b, c)
    THREE("vmin4.u32.u32.u32", a, b, c)
    THREE("vmax4.s32.s32.s32.add", a, b, c)
    THREE("vset4.u32.u32.gt.add", a, b, c)
    THREE("vabsdiff.u32.s32.s32.add", a, b, c);
    THREE("vabsdiff4.u32.u32.u32", a, b, c);
    TWO("vadd.s32.s32.s32.sat", a, b);
    THREE("vmad.s32.s32.s32", a, b, c);
    TWO("vmax.s32.s32.s32", a, b);
    TWO("vsub.u32.u32.u32", a, b);
}
