// Memory from the stack whose size is known at run time.
__device__ __noinline__ int sum(const int *p, int n) { int s = 0; for (int i = 0; i < n; i++) s = s * 3 + p[i]; return s; }
extern "C" __global__ void k(int *o) {
    int i = threadIdx.x, n = i % 9 + 1, total = 0;
    for (int round = 0; round < 3; round++) {
        unsigned long long at, mark;
        asm volatile("stacksave.u64 %0;" : "=l"(mark));
        asm volatile("{\n\t.reg .b64 l;\n\talloca.u64 l, %1, 16;\n\tcvta.local.u64 %0, l;\n\t}" : "=l"(at) : "l"((unsigned long long)n * 4));
        int *p = (int *)at;
        for (int j = 0; j < n; j++) p[j] = i + j + round;
        total += sum(p, n);
        asm volatile("stackrestore.u64 %0;" ::"l"(mark));
    }
    o[i] = total;
}
