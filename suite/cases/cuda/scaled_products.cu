// Products of numbers of 8, 6 and 4 bits with a scale for each block of k, and without.
#define REGS(x, n) "r"(x[n]), "r"(x[n + 1])
#define FLOATS "f"(D[0]), "f"(D[1]), "f"(D[2]), "f"(D[3])
#define OUT "=f"(D[0]), "=f"(D[1]), "=f"(D[2]), "=f"(D[3])
#define PLAIN(form) asm volatile("mma.sync.aligned." form " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};" \
    : OUT : REGS(A, 0), REGS(A, 2), REGS(B, 0), FLOATS)
#define SCALED(form, ids, jds) asm volatile("mma.sync.aligned." form " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13}, %14, " ids ", %15, " jds ";" \
    : OUT : REGS(A, 0), REGS(A, 2), REGS(B, 0), FLOATS, "r"(sa), "r"(sb))
extern "C" __global__ void k(float *d, const unsigned *a, const unsigned *b, const unsigned *by_row, const unsigned *by_column) {
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    unsigned A[4], B[2], sa, sb;
    float D[4];
    // The case's matrices, with their scales in the lanes that are named and none elsewhere.
    auto load = [&](int at, int pair, int thread, int shift) {
        const unsigned *rows = a + at * 128, *columns = b + at * 64;
        for (int i = 0; i < 4; i++) A[i] = rows[(g + 8 * (i % 2)) * 8 + 4 * (i / 2) + t];
        for (int j = 0; j < 2; j++) B[j] = columns[g * 8 + 4 * j + t];
        sa = t / 2 == pair ? by_row[at * 16 + g + 8 * (t % 2)] << shift : 0x11111111;
        sb = t == thread ? by_column[at * 8 + g] << shift : 0x22222222;
        for (int j = 0; j < 4; j++) D[j] = j + 1;
    };
    auto put = [&](int at) {
        for (int j = 0; j < 4; j++) d[at * 128 + (g + 8 * (j / 2)) * 8 + 2 * t + (j & 1)] = D[j];
    };
    load(0, 0, 0, 0); PLAIN("m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e2m1.f32"); put(0);
    load(1, 0, 0, 0); PLAIN("m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m3.f32"); put(1);
    load(2, 1, 3, 16); SCALED("m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2.e3m2.f32.ue8m0", "{2, 1}", "{2, 3}"); put(2);
    load(3, 0, 1, 0); SCALED("m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e2m1.e4m3.f32.ue8m0", "{0, 0}", "{0, 1}"); put(3);
    load(4, 1, 2, 16); SCALED("m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", "{2, 1}", "{2, 2}"); put(4);
    load(5, 0, 0, 0); SCALED("m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", "{0, 0}", "{0, 0}"); put(5);
    load(6, 1, 1, 0); SCALED("m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", "{0, 1}", "{0, 1}"); put(6);
}
