// Sums, differences and products of pairs of bfloat16, each rounded by itself.
extern "C" __global__ void k(unsigned *o, const unsigned *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned a = x[i], b = x[(i + 1) % n];
    asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(o[3 * i]) : "r"(a), "r"(b));
    asm("sub.rn.bf16x2 %0, %1, %2;" : "=r"(o[3 * i + 1]) : "r"(a), "r"(b));
    asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(o[3 * i + 2]) : "r"(a), "r"(b));
}
