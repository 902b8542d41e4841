// Atomics and reductions with orders and scopes; fences.
__device__ unsigned cell[8];
extern "C" __global__ void k(int *o, int *r, unsigned *u, unsigned long long *l, float *f) {
    __shared__ int s[4];
    int i = threadIdx.x, old;
    if (i < 4) s[i] = i == 1 ? 1000 : 0;
    __syncthreads();
    unsigned at = (unsigned)__cvta_generic_to_shared(s);
    asm volatile("atom.acq_rel.cta.shared.add.s32 %0, [%1], 3;" : "=r"(old) : "r"(at) : "memory");
    asm volatile("red.shared.min.s32 [%0+4], %1;\n\tred.shared.or.b32 [%0+8], %2;\n\tred.shared.add.u32 [%0+12], 5;" ::"r"(at), "r"(i * 2 + 7), "r"(1 << i % 9) : "memory");
    asm volatile("red.global.add.s32 [%0], %1;\n\tred.relaxed.gpu.global.max.s32 [%0+4], %1;" ::"l"(r), "r"(i) : "memory");
    asm volatile("red.global.and.b32 [%0], %1;\n\tred.global.or.b32 [%0+4], %1;\n\tred.global.xor.b32 [%0+8], %1;\n\tred.global.inc.u32 [%0+12], 6;\n\tred.release.sys.global.min.u32 [%0+16], %1;\n\tred.global.add.u32 [%0+20], %1;" ::"l"(u), "r"(i + 64) : "memory");
    asm volatile("red.global.add.u64 [%0], %1;\n\tred.global.max.u64 [%0+8], %1;" ::"l"(l), "l"((unsigned long long)i << 35) : "memory");
    asm volatile("red.global.add.f32 [%0], %1;" ::"l"(f), "f"(0.5f) : "memory");
    unsigned ticket;
    asm volatile("atom.global.gpu.acq_rel.add.u32 %0, [%1], 1;" : "=r"(ticket) : "l"(u + 6) : "memory");
    asm volatile("fence.acq_rel.gpu;\n\tfence.sc.sys;" ::: "memory");
    __threadfence(); __threadfence_block(); __threadfence_system();
    float v;
    asm volatile("st.release.gpu.global.f32 [%1], %2;\n\tld.acquire.gpu.global.f32 %0, [%1];" : "=f"(v) : "l"(f + 4 + i), "f"(i * 0.5f) : "memory");
    float w;
    asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];" : "=f"(w) : "l"(f + 4 + i) : "memory");
    o[64 + ticket] = (int)(v + w);
    volatile unsigned *q = cell;
    volatile unsigned long long *q2 = (volatile unsigned long long *)(l + 4);
    volatile int *qs = s;
    if (i == 0) { q[3] = 41; q[3] = q[3] + 1; o[130] = q[3]; o[131] = (int)q2[0]; qs[0] = qs[0] + 1; }
    __syncthreads();
    if (i < 4) o[i] = s[i];
    __nanosleep(20);
}
