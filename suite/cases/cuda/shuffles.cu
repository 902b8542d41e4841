// The four shuffles with widths, partial warps, and 64-bit values.
extern "C" __global__ void k(int *o, double *d, const int *x) {
    int i = threadIdx.x, v = x[i];
    int *p = o + 10 * i;
    p[0] = __shfl_sync(~0u, v, 5);
    p[1] = __shfl_sync(~0u, v, i * 7, 8);
    p[2] = __shfl_up_sync(~0u, v, 3);
    p[3] = __shfl_up_sync(~0u, v, 1, 4);
    p[4] = __shfl_down_sync(~0u, v, 9);
    p[5] = __shfl_down_sync(~0u, v, 2, 16);
    p[6] = __shfl_xor_sync(~0u, v, 13);
    p[7] = __shfl_xor_sync(~0u, v, 1, 2);
    p[8] = p[9] = -1;
    unsigned half = i % 32 < 16 ? 0xFFFF : 0xFFFF0000;
    if (i % 32 < 16) p[8] = __shfl_xor_sync(half, v, 8);
    else p[8] = __shfl_up_sync(half, v, 2, 16);
    if (i & 1) p[9] = __shfl_down_sync(0xAAAAAAAA, v, 2);
    d[i] = __shfl_down_sync(~0u, (double)v * 0.5, 1);
}
