// Components of a graph by hooking roots with atomic minima.
__device__ int find(volatile int *p, int x) { while (p[x] != x) x = p[x]; return x; }
extern "C" __global__ void k(int *parent, const int *from, const int *to, int edges, int n) {
    for (int e = threadIdx.x; e < edges; e += blockDim.x) {
        int a = find(parent, from[e]), b = find(parent, to[e]);
        while (a != b) {
            if (a < b) { int t = a; a = b; b = t; }
            int old = atomicMin(parent + a, b);
            if (old == a) break;
            a = find(parent, old);
            b = find(parent, b);
        }
    }
    __syncthreads();
    for (int v = threadIdx.x; v < n; v += blockDim.x) { int r = find(parent, v); __syncwarp(__activemask()); ((volatile int *)parent)[v] = r; }
}
