// Matrix products of bytes, 16 x 8 x 32, exact and saturated.
extern "C" __global__ void k(int *o, int *p, const unsigned char *a, const signed char *b, const signed char *sa) {
    int lane = threadIdx.x, r = lane / 4, c = lane % 4;
    unsigned A[4], S[4], B[2];
    for (int j = 0; j < 4; j++) { int row = r + 8 * (j & 1), k = 4 * c + 16 * (j / 2); A[j] = *(const unsigned *)(a + row * 32 + k); S[j] = *(const unsigned *)(sa + row * 32 + k); }
    for (int j = 0; j < 2; j++) { B[j] = 0; for (int e = 0; e < 4; e++) B[j] |= (unsigned)(unsigned char)b[(4 * c + 16 * j + e) * 8 + r] << 8 * e; }
    int C[4] = {1, 2, 3, 4}, D[4];
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};" : "=r"(D[0]), "=r"(D[1]), "=r"(D[2]), "=r"(D[3]) : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]), "r"(C[0]), "r"(C[1]), "r"(C[2]), "r"(C[3]));
    for (int j = 0; j < 4; j++) { o[(r + 8 * (j / 2)) * 8 + 2 * c + (j & 1)] = D[j]; C[j] = j & 1 ? 2147483000 : -2147483000; }
    asm("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};" : "=r"(D[0]), "=r"(D[1]), "=r"(D[2]), "=r"(D[3]) : "r"(S[0]), "r"(S[1]), "r"(S[2]), "r"(S[3]), "r"(B[0]), "r"(B[1]), "r"(C[0]), "r"(C[1]), "r"(C[2]), "r"(C[3]));
    for (int j = 0; j < 4; j++) p[(r + 8 * (j / 2)) * 8 + 2 * c + (j & 1)] = D[j];
}
