// Producers and consumers with numbered barriers: arrivals that do not wait, and partial blocks.
extern "C" __global__ void k(int *o) {
    __shared__ int ring[2][32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, total = 0;
    for (int round = 0; round < 6; round++) {
        int slot = round & 1;
        if (warp == 0) {
            if (round >= 2) asm volatile("bar.sync %0, 64;" ::"r"(3 + slot) : "memory");
            ring[slot][lane] = round * 100 + lane;
            __threadfence_block();
            asm volatile("bar.arrive %0, 64;" ::"r"(1 + slot) : "memory");
        } else if (warp == 1) {
            asm volatile("bar.sync %0, 64;" ::"r"(1 + slot) : "memory");
            total += ring[slot][31 - lane];
            if (round < 4) asm volatile("bar.arrive %0, 64;" ::"r"(3 + slot) : "memory");
        }
    }
    if (warp >= 2) { asm volatile("barrier.sync 7, 64;\n\tbarrier.cta.sync 8, 64;" ::: "memory"); total = warp; }
    __syncthreads();
    o[threadIdx.x] = total;
}
