// Barriers that count and combine.
extern "C" __global__ void k(int *o, const int *x) {
    int i = threadIdx.x, at = blockIdx.x * blockDim.x + i, v = x[at];
    o[3 * at] = __syncthreads_count(v > 2);
    o[3 * at + 1] = __syncthreads_and(v > -10 * (int)blockIdx.x);
    o[3 * at + 2] = __syncthreads_or(v == 9);
}
