// Loads and stores with cache operators, eviction priorities and prefetches.
extern "C" __global__ void k(float *o, const float *__restrict__ x, int *p, const int4 *__restrict__ v, float4 *w, const double *__restrict__ d, const long long *__restrict__ l) {
    int i = threadIdx.x;
    const float *a = x + i;
    asm volatile("prefetch.global.L1 [%0];\n\tprefetch.global.L2 [%0];\n\tprefetchu.L1 [%0];" ::"l"(a));
    float s = __ldca(a) + 2 * __ldcg(a) + 4 * __ldcs(a) + 8 * __ldlu(a) + 16 * __ldcv(a) + 32 * __ldg(a);
    float t, u, q;
#if __CUDA_ARCH__ >= 800
    asm volatile("{\n\t.reg .b64 p;\n\tcreatepolicy.fractional.L2::evict_last.b64 p, 1.0;\n\tld.global.L2::cache_hint.f32 %0, [%1], p;\n\t}" : "=f"(t) : "l"(a));
#else
    t = *a;
#endif
    asm volatile("ld.global.L1::evict_last.f32 %0, [%1];" : "=f"(u) : "l"(a));
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.f32 %0, [%1];" : "=f"(q) : "l"(a));
    __stcs(o + i, s + 64 * t + 128 * u);
    __stwt(o + 64 + i, q);
    p[i] = __ldcg(p + i) + (int)d[i] + (int)l[i];
    int4 y = __ldg(v + i);
    asm volatile("st.global.wt.v4.s32 [%0], {%1, %2, %3, %4};" ::"l"(w + i), "r"(y.w), "r"(y.z), "r"(y.y), "r"(y.x) : "memory");
}
