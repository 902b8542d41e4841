// Inclusive sums over a block: shuffles in warps, then over warps.
extern "C" __global__ void k(int *o, const int *x, int n) {
    __shared__ int sums[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int v = i < n ? x[i] : 0;
    for (int d = 1; d < 32; d *= 2) { int u = __shfl_up_sync(~0u, v, d); if (lane >= d) v += u; }
    if (lane == 31) sums[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int s = lane < blockDim.x / 32 ? sums[lane] : 0;
        for (int d = 1; d < 32; d *= 2) { int u = __shfl_up_sync(~0u, s, d); if (lane >= d) s += u; }
        sums[lane] = s;
    }
    __syncthreads();
    if (warp) v += sums[warp - 1];
    if (i < n) o[i] = v;
}
