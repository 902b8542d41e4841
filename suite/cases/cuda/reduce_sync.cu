// Reductions over a warp in one instruction.
extern "C" __global__ void k(int *o, const int *x) {
    int i = threadIdx.x, v = x[i];
    unsigned u = v, mask = i & 16 ? 0xFFFF0000 : 0xFFFF;
    int *p = o + 9 * i;
    p[0] = __reduce_add_sync(~0u, v);
    p[1] = __reduce_min_sync(~0u, v);
    p[2] = __reduce_max_sync(~0u, v);
    p[3] = __reduce_min_sync(~0u, u);
    p[4] = __reduce_max_sync(~0u, u);
    p[5] = __reduce_and_sync(~0u, u | 0xFF);
    p[6] = __reduce_or_sync(~0u, u & 0xFF00);
    p[7] = __reduce_xor_sync(~0u, u);
    p[8] = __reduce_add_sync(mask, v);
}
