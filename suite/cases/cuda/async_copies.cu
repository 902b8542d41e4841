// Copies in the background, of 4 and 16 bytes, in groups, and counted by a barrier object.
extern "C" __global__ void k(float *o, const float *x, int tiles) {
    __shared__ __align__(16) float s[2][128];
    __shared__ float four[32];
    __shared__ __align__(8) unsigned long long done;
    int lane = threadIdx.x;
    unsigned at = (unsigned)__cvta_generic_to_shared(s), small = (unsigned)__cvta_generic_to_shared(four + lane), bar = (unsigned)__cvta_generic_to_shared(&done);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n\tcp.async.wait_all;" ::"r"(small), "l"(x + 3 * lane) : "memory");
    auto fetch = [&](int tile) {
        if (tile < tiles) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at + (tile & 1) * 512 + lane * 16), "l"(x + tile * 128 + lane * 4) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    fetch(0);
    for (int tile = 0; tile < tiles; tile++) {
        fetch(tile + 1);
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        float sum = 0;
        for (int j = 0; j < 4; j++) sum += s[tile & 1][(lane + 32 * j + 5) % 128];
        o[tile * 32 + lane] = sum + four[31 - lane];
        __syncthreads();
    }
    if (lane == 0) asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(bar) : "memory");
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;\n\tcp.async.mbarrier.arrive.noinc.shared.b64 [%2];" ::"r"(at + lane * 16), "l"(x + 128 + lane * 4), "r"(bar) : "memory");
    unsigned ready = 0;
    while (!ready) asm volatile("{\n\t.reg .pred p;\n\tmbarrier.test_wait.parity.shared.b64 p, [%1], 0;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(ready) : "r"(bar) : "memory");
    o[tiles * 32 + lane] = s[0][127 - lane];
    __syncthreads();
    if (lane == 0) asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(bar) : "memory");
}
