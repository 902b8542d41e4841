// Matrix products of 16 x 8 x 16 in f16 and bf16, 16 x 8 x 8 in tf32 and f16, 8 x 8 x 4 in f64.
__device__ unsigned pair(const unsigned short *p, int a, int b) { return p[a] | (unsigned)p[b] << 16; }
extern "C" __global__ void k(float *f, float *g, float *t, double *d, unsigned short *s, const unsigned short *a, const unsigned short *b, const unsigned short *ba, const unsigned short *bb, const float *ta, const float *tb, const double *da, const double *db) {
    int lane = threadIdx.x, r = lane / 4, c = lane % 4;
    unsigned A[4], B[2];
    float C[4];
    for (int round = 0; round < 2; round++) {
        const unsigned short *x = round ? ba : a, *y = round ? bb : b;
        for (int j = 0; j < 4; j++) { int row = r + 8 * (j & 1), k = 2 * c + 8 * (j / 2); A[j] = pair(x + row * 16, k, k + 1); }
        for (int j = 0; j < 2; j++) { int k = 2 * c + 8 * j; B[j] = pair(y + r, k * 8, (k + 1) * 8); }
        for (int j = 0; j < 4; j++) C[j] = j;
        if (round) asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(C[0]), "+f"(C[1]), "+f"(C[2]), "+f"(C[3]) : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]));
        else asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(C[0]), "+f"(C[1]), "+f"(C[2]), "+f"(C[3]) : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]));
        for (int j = 0; j < 4; j++) (round ? g : f)[(r + 8 * (j / 2)) * 8 + 2 * c + (j & 1)] = C[j];
    }
    unsigned H[2] = {0, 0};
    asm("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1};" : "+r"(H[0]), "+r"(H[1]) : "r"(pair(a + r * 16, 2 * c, 2 * c + 1)), "r"(pair(a + (r + 8) * 16, 2 * c, 2 * c + 1)), "r"(pair(b + r, 2 * c * 8, (2 * c + 1) * 8)));
    for (int j = 0; j < 2; j++) { s[(r + 8 * j) * 8 + 2 * c] = H[j]; s[(r + 8 * j) * 8 + 2 * c + 1] = H[j] >> 16; }
    unsigned T[4], U[2];
    for (int j = 0; j < 4; j++) { float v = ta[(r + 8 * (j & 1)) * 8 + c + 4 * (j / 2)]; asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(T[j]) : "f"(v)); C[j] = 0; }
    for (int j = 0; j < 2; j++) { float v = tb[(c + 4 * j) * 8 + r]; asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(U[j]) : "f"(v)); }
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(C[0]), "+f"(C[1]), "+f"(C[2]), "+f"(C[3]) : "r"(T[0]), "r"(T[1]), "r"(T[2]), "r"(T[3]), "r"(U[0]), "r"(U[1]));
    for (int j = 0; j < 4; j++) t[(r + 8 * (j / 2)) * 8 + 2 * c + (j & 1)] = C[j];
    double D[2] = {1, 2};
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(D[0]), "+d"(D[1]) : "d"(da[r * 4 + c]), "d"(db[c * 8 + r]));
    d[r * 8 + 2 * c] = D[0]; d[r * 8 + 2 * c + 1] = D[1];
}
