// Products whose left matrix has half of its elements: every shape, with each way to say which.
#define REGS2(x) "r"(x[0]), "r"(x[1])
#define REGS4(x) "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
#define TWO(op, form, f, set, d, c) asm volatile("mma." op ".sync.aligned." form " {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%8,%9,%10,%11}, %12, " #f ";" \
    : set(d[0]), set(d[1]), set(d[2]), set(d[3]) : REGS2(A), REGS2(B), c(d), "r"(e))
#define FOUR(op, form, f, set, d, c) asm volatile("mma." op ".sync.aligned." form " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%12,%13,%14,%15}, %16, " #f ";" \
    : set(d[0]), set(d[1]), set(d[2]), set(d[3]) : REGS4(A), REGS4(B), c(d), "r"(e))
#define FLOATS(x) "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3])
#define INTS(x) "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
template <typename T>
static __device__ void put(T *to, int at, const T *d) {
    int g = threadIdx.x / 4, t = threadIdx.x % 4;
    for (int j = 0; j < 4; j++) to[at * 128 + (g + 8 * (j / 2)) * 8 + 2 * t + (j & 1)] = d[j];
}
extern "C" __global__ void k(float *floats, int *ints, unsigned short *halves, const unsigned *a, const unsigned *b, const unsigned long long *which) {
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    unsigned A[4], B[4], e;
    // The case's matrices, and the word that this lane gives: of those that the selector does not name it is none.
    auto load = [&](int at, int count, int unit, int f) {
        const unsigned *rows = a + at * 128, *columns = b + at * 128;
        for (int i = 0; i < count; i++) A[i] = rows[(g + 8 * (i % 2)) * 8 + 4 * (i / 2) + t];
        for (int j = 0; j < count; j++) B[j] = columns[g * 16 + 4 * j + t];
        const unsigned long long *bits = which + at * 16;
        e = 0xDEADBEEF;
        if (unit == 2 && count == 2 && t == f) e = bits[g] & 0xFFFF | bits[g + 8] << 16;
        if (unit == 2 && count == 4 && t / 2 == f) e = bits[g] >> 16 * (t % 2) & 0xFFFF | (bits[g + 8] >> 16 * (t % 2)) << 16;
        if (unit == 1 && count == 2 && t / 2 == f) e = bits[g + 8 * (t % 2)];
        if (unit == 1 && count == 4) e = bits[g + 8 * (t % 2)] >> 32 * (t / 2);
    };
    float F[4] = {1, 2, 3, 4};
    int I[4] = {1, 2, 3, 4};
    load(0, 4, 2, 0); FOUR("sp::ordered_metadata", "m16n8k32.row.col.f32.f16.f16.f32", 0, "=f", F, FLOATS); put(floats, 0, F);
    load(1, 2, 2, 2); TWO("sp", "m16n8k16.row.col.f32.f16.f16.f32", 2, "=f", F, FLOATS); put(floats, 1, F);
    load(2, 4, 2, 1); FOUR("sp", "m16n8k32.row.col.f32.bf16.bf16.f32", 1, "=f", F, FLOATS); put(floats, 2, F);
    load(3, 2, 2, 1); TWO("sp::ordered_metadata", "m16n8k16.row.col.f32.bf16.bf16.f32", 1, "=f", F, FLOATS); put(floats, 3, F);
    load(4, 4, 2, 0); FOUR("sp::ordered_metadata", "m16n8k16.row.col.f32.tf32.tf32.f32", 0, "=f", F, FLOATS); put(floats, 4, F);
    load(5, 2, 2, 3); TWO("sp", "m16n8k8.row.col.f32.tf32.tf32.f32", 3, "=f", F, FLOATS); put(floats, 5, F);
    load(6, 4, 1, 0); FOUR("sp::ordered_metadata", "m16n8k64.row.col.f32.e4m3.e5m2.f32", 0, "=f", F, FLOATS); put(floats, 6, F);
    load(7, 4, 1, 0); FOUR("sp::ordered_metadata", "m16n8k64.row.col.s32.s8.u8.s32", 0, "=r", I, INTS); put(ints, 0, I);
    load(8, 2, 1, 1); TWO("sp", "m16n8k32.row.col.satfinite.s32.u8.s8.s32", 1, "=r", I, INTS); put(ints, 1, I);
    load(9, 4, 1, 0); FOUR("sp::ordered_metadata", "m16n8k128.row.col.s32.s4.u4.s32", 0, "=r", I, INTS); put(ints, 2, I);
    load(10, 2, 1, 0); TWO("sp::ordered_metadata", "m16n8k64.row.col.s32.u4.s4.s32", 0, "=r", I, INTS); put(ints, 3, I);
    for (int j = 0; j < 4; j++) I[j] = j & 1 ? 2147483640 : -2147483640;
    load(8, 2, 1, 0); TWO("sp::ordered_metadata", "m16n8k32.row.col.satfinite.s32.u8.s8.s32", 0, "=r", I, INTS); put(ints, 4, I);
    // Sums of halves, two in a register.
    unsigned H[2] = {0x3C003C00, 0x40004000};
    load(0, 4, 2, 1);
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7,%8,%9}, {%10,%11}, %12, 1;"
        : "=r"(H[0]), "=r"(H[1]) : REGS4(A), REGS4(B), REGS2(H), "r"(e));
    load(1, 2, 2, 0);
    asm volatile("mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4,%5}, {%6,%7}, %8, 0;"
        : "=r"(H[0]), "=r"(H[1]) : REGS2(A), REGS2(B), REGS2(H), "r"(e));
    for (int j = 0; j < 4; j++) halves[(g + 8 * (j / 2)) * 8 + 2 * t + (j & 1)] = H[j / 2] >> 16 * (j & 1);
}
