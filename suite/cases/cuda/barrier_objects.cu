// A ring of two buffers between a producer and a consumer warp, with barrier objects in shared memory.
extern "C" __global__ void k(int *o, int rounds) {
    __shared__ int ring[2][32];
    __shared__ __align__(8) unsigned long long full[2], empty[2], gate;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, sum = 0;
    auto at = [](unsigned long long *p) { return (unsigned)__cvta_generic_to_shared(p); };
    if (threadIdx.x == 0) {
        for (int j = 0; j < 2; j++) {
            asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(at(full + j)) : "memory");
            asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(at(empty + j)) : "memory");
        }
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" ::"r"(at(&gate)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    auto wait = [&](unsigned bar, unsigned parity) {
        unsigned ready = 0;
        while (!ready) asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(ready) : "r"(bar), "r"(parity) : "memory");
    };
    for (int r = 0; r < rounds; r++) {
        int slot = r & 1, phase = r / 2 & 1;
        unsigned long long token;
        if (warp == 0) {
            wait(at(empty + slot), phase ^ 1);
            ring[slot][lane] = r * 1000 + lane * lane;
            asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(at(full + slot)) : "memory");
        } else {
            wait(at(full + slot), phase);
            sum += ring[slot][(lane + r) % 32];
            asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(at(empty + slot)) : "memory");
        }
    }
    unsigned long long token;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], 0;" : "=l"(token) : "r"(at(&gate)) : "memory");
    unsigned ready = 0;
    while (!ready) asm volatile("{\n\t.reg .pred p;\n\tmbarrier.test_wait.shared.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(ready) : "r"(at(&gate)), "l"(token) : "memory");
    o[threadIdx.x] = sum;
}
