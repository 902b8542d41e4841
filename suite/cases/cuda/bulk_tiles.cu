// Tiles by bulk copies: two buffers are filled while a third of the work goes on, and sums go back by bulk reductions.
static __device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void k(float *sums, const float *x, int tiles) {
    __shared__ __align__(128) float tile[2][256];
    __shared__ __align__(128) float total[256];
    __shared__ __align__(8) unsigned long long full[2];
    int t = threadIdx.x;
    if (t == 0) {
        for (int j = 0; j < 2; j++) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(full + j)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    total[t] = 0;
    __syncthreads();
    auto fetch = [&](int i) {
        if (t || i >= tiles) return;
        int slot = i & 1;
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(at(full + slot)) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" ::"r"(at(tile[slot])),
                     "l"(x + (blockIdx.x * tiles + i) * 256), "r"(at(full + slot))
                     : "memory");
    };
    fetch(0);
    for (int i = 0; i < tiles; i++) {
        fetch(i + 1);
        unsigned ready = 0;
        while (!ready)
            asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(ready) : "r"(at(full + (i & 1))), "r"(i / 2 & 1) : "memory");
        total[t] += tile[i & 1][(t + i) % 256];
        __syncthreads();
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 1024;" ::"l"(sums), "r"(at(total)) : "memory");
        asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
    }
}
