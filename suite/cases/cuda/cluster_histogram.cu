// A histogram whose counters are spread over the shared memory of a cluster: each block counts into all of them.
static __device__ unsigned rank() { unsigned r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
static __device__ void meet() {
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
static __device__ int *of(int *here, unsigned rank) {
    unsigned long long there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"((unsigned long long)here), "r"(rank));
    return (int *)there;
}
extern "C" __global__ void __cluster_dims__(4, 1, 1) k(int *o, const unsigned *x, int n) {
    __shared__ int counts[64];
    counts[threadIdx.x] = 0;
    meet();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned bin = x[i] % 256;
        atomicAdd(of(counts + bin % 64, bin / 64), 1);
    }
    meet();
    // The first block of the cluster writes what all have.
    if (rank() == 0)
        for (unsigned r = 0; r < 4; r++) o[blockIdx.x / 4 * 256 + r * 64 + threadIdx.x] = *of(counts + threadIdx.x, r);
    meet();
}
