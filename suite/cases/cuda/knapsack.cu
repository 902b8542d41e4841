// The best value for every weight, items one after another.
extern "C" __global__ void k(int *best, const int *weight, const int *value, int items, int room) {
    extern __shared__ int s[];
    int *a = s, *b = s + room + 1;
    for (int w = threadIdx.x; w <= room; w += blockDim.x) a[w] = 0;
    for (int i = 0; i < items; i++) {
        __syncthreads();
        for (int w = threadIdx.x; w <= room; w += blockDim.x) b[w] = w >= weight[i] ? max(a[w], a[w - weight[i]] + value[i]) : a[w];
        int *t = a; a = b; b = t;
    }
    __syncthreads();
    for (int w = threadIdx.x; w <= room; w += blockDim.x) best[w] = a[w];
}
