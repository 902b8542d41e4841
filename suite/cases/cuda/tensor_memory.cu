// A product of 128 by 64 by 64 in tensor memory: tiles with a swizzle of 128 bytes, four steps of 16, the second half added to the
// first; then another of bytes with scales, which are copied from shared memory.
static __device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
static __device__ unsigned long long descriptor(unsigned start, unsigned leading, unsigned stride, unsigned long long mode) {
    return (unsigned long long)(start >> 4) | (unsigned long long)(leading >> 4) << 16 | (unsigned long long)(stride >> 4) << 32 |
           1ull << 46 | mode << 61;
}
static __device__ void wait(unsigned bar, unsigned parity) {
    asm volatile("{\n\t.reg .pred p;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n\t@!p bra again;\n\t}" ::"r"(bar), "r"(parity) : "memory");
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}
static __device__ void commit(unsigned bar) {
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(bar) : "memory");
}
static __device__ void load(unsigned from, unsigned *to) {
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]), "=r"(to[4]), "=r"(to[5]), "=r"(to[6]), "=r"(to[7])
                 : "r"(from));
}
extern "C" __global__ void __launch_bounds__(128) k(float *d, float *scaled, const unsigned *a, const unsigned *b, const unsigned *x,
                                                    const unsigned *y, const unsigned *scales) {
    __shared__ __align__(1024) unsigned rows[128 * 32], columns[64 * 32];
    __shared__ __align__(128) unsigned factors[2 * 128];
    __shared__ __align__(8) unsigned long long bar;
    __shared__ unsigned where;
    int t = threadIdx.x, warp = t / 32;
    if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&bar)) : "memory");
    if (warp == 0) {
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 128;" ::"r"(at(&where)) : "memory");
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");
    }
    // 64 halves are a row of 128 bytes; its units of 16 go where the row's number says.
    for (int i = t; i < 128 * 32; i += 128) rows[i ^ i / 32 % 8 << 2] = a[i];
    for (int i = t; i < 64 * 32; i += 128) columns[i ^ i / 32 % 8 << 2] = b[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    unsigned base = where, own = base + (warp << 21);
    if (t == 0) {
        for (int k = 0; k < 4; k++) {
            unsigned long long left = descriptor(at(rows) + 32 * k, 16, 1024, 2), right = descriptor(at(columns) + 32 * k, 16, 1024, 2);
            // f32 sums of f16, 64 columns, 128 rows.
            unsigned kind = 1u << 4 | 8u << 17 | 8u << 24;
            asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %4, 0;\n\ttcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n\t}" ::"r"(base),
                         "l"(left), "l"(right), "r"(kind), "r"(k)
                         : "memory");
        }
        commit(at(&bar));
    }
    wait(at(&bar), 0);
    for (int first = 0; first < 64; first += 8) {
        unsigned s[8];
        load(own + first, s);
        asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
        for (int i = 0; i < 8; i++) d[t * 64 + first + i] = __uint_as_float(s[i]);
    }
    // 32 bytes of k: rows lie in units of 8 by 16 bytes, all of the first half of k together.
    __syncthreads();
    for (int i = t; i < 128 * 8; i += 128) rows[i / 8 / 8 * 32 + i / 8 % 8 * 4 + i % 8 / 4 * 512 + i % 4] = x[i];
    for (int i = t; i < 64 * 8; i += 128) columns[i / 8 / 8 * 32 + i / 8 % 8 * 4 + i % 8 / 4 * 256 + i % 4] = y[i];
    for (int i = t; i < 2 * 128; i += 128) factors[i] = scales[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    if (t == 0) {
        // 32 rows of 16 bytes, one column for each 32 rows of A, or columns of B, in each quarter of the lanes.
        for (int i = 0; i < 2; i++)
            asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(base + 64 + 4 * i), "l"(descriptor(at(factors + 128 * i), 512, 128, 0))
                         : "memory");
        unsigned long long left = descriptor(at(rows), 2048, 128, 0), right = descriptor(at(columns), 1024, 128, 0);
        // e4m3 by e5m2, 64 columns, scales that are powers of two, 128 rows.
        unsigned kind = 1u << 10 | 8u << 17 | 1u << 23 | 1u << 27;
        asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %0, %0;\n\ttcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32 [%0], %1, %2, %3, [%4], [%5], p;\n\t}" ::"r"(base),
                     "l"(left), "l"(right), "r"(kind), "r"(base + 64), "r"(base + 68)
                     : "memory");
        commit(at(&bar));
    }
    wait(at(&bar), 1);
    for (int first = 0; first < 64; first += 8) {
        unsigned s[8];
        load(own + first, s);
        asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
        for (int i = 0; i < 8; i++) scaled[t * 64 + first + i] = __uint_as_float(s[i]);
    }
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    if (warp == 0) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 128;" ::"r"(base) : "memory");
}
