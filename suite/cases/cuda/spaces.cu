// Which space a generic address is in, and accesses through generic addresses.
__constant__ int fixed[32] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
__device__ int global_var[32];
__device__ __noinline__ int spaces(const void *p) {
    return (__isGlobal(p) ? 1 : 0) | (__isShared(p) ? 2 : 0) | (__isLocal(p) ? 4 : 0) | (__isConstant(p) ? 8 : 0);
}
__device__ __noinline__ void bump(int *p, int by) { *p += by; }
__device__ __noinline__ int4 quad(int4 *p) { int4 v = *p; v.x += v.w; *p = v; return v; }
extern "C" __global__ void k(int *o, int *add) {
    __shared__ int s[32];
    __shared__ int4 q[32];
    int i = threadIdx.x, own[4] = {i, i + 1, i + 2, i + 3};
    o[8 * i] = spaces(global_var + i);
    o[8 * i + 1] = spaces(s + i);
    o[8 * i + 2] = spaces(own);
    o[8 * i + 3] = spaces(fixed);
    s[i] = i;
    q[i] = make_int4(i, 2, 3, 4);
    bump(i & 1 ? s + i : own + 2, 10);
    bump(o + 8 * i, 100);
    o[8 * i + 4] = s[i] + own[2] + own[i & 3];
    o[8 * i + 5] = quad(q + i).x;
    __syncthreads();
    atomicAdd(i % 3 ? add + (i & 7) : s + 1, 1);
    __syncthreads();
    o[8 * i + 6] = s[1];
    o[8 * i + 7] = *(i < 9 ? fixed + i : own + 3);
}
