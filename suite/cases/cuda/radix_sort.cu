// A sort by digits of four bits: counts, sums and ranks in shared memory.
extern "C" __global__ void k(unsigned *x, int n) {
    __shared__ unsigned from[256], to[256], sums[256];
    int i = threadIdx.x;
    from[i] = i < n ? x[i] : ~0u;
    for (int bit = 0; bit < 32; bit++) {
        __syncthreads();
        unsigned v = from[i], zero = !(v >> bit & 1);
        sums[i] = zero;
        for (int d = 1; d < 256; d *= 2) { __syncthreads(); unsigned t = i >= d ? sums[i - d] : 0; __syncthreads(); sums[i] += t; }
        __syncthreads();
        unsigned zeros = sums[255], at = zero ? sums[i] - 1 : zeros + i - sums[i];
        to[at] = v;
        __syncthreads();
        from[i] = to[i];
    }
    if (i < n) x[i] = from[i];
}
