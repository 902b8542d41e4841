// Atomics in shared memory: a histogram, extremes, and a lock.
extern "C" __global__ void k(int *o, const int *x, int n) {
    __shared__ int bins[16], low, high;
    __shared__ unsigned long long wide;
    __shared__ float sum;
    __shared__ unsigned lock, guarded;
    int i = threadIdx.x;
    if (i < 16) bins[i] = 0;
    if (i == 0) { low = 1 << 30; high = -low; wide = 0; sum = 0; lock = 0; guarded = 0; }
    __syncthreads();
    for (int j = i; j < n; j += blockDim.x) {
        int v = x[j];
        atomicAdd(bins + (v & 15), 1);
        atomicMin(&low, v); atomicMax(&high, v);
        atomicAdd(&wide, (unsigned long long)(v & 255) << 20);
        atomicAdd(&sum, 0.5f);
    }
    int placed = atomicAdd(bins + 3, 0) >= 0 ? 1 : 0;
    bool done = false;
    while (!done) {
        if (atomicCAS(&lock, 0u, 1u) == 0) { __threadfence_block(); guarded += 2; __threadfence_block(); atomicExch(&lock, 0u); done = true; }
    }
    __syncthreads();
    if (i < 16) o[i] = bins[i];
    if (i == 0) { o[16] = low; o[17] = high; o[18] = (int)(wide >> 20); o[19] = (int)(sum * 2); o[20] = guarded; o[21] = placed; }
}
