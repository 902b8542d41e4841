// Levels of a graph from a root, in one block.
extern "C" __global__ void k(int *level, const int *starts, const int *next, int n) {
    __shared__ int changed;
    int depth = 0;
    do {
        __syncthreads();
        if (threadIdx.x == 0) changed = 0;
        __syncthreads();
        for (int v = threadIdx.x; v < n; v += blockDim.x)
            if (((volatile int *)level)[v] == depth)
                for (int e = starts[v]; e < starts[v + 1]; e++)
                    if (atomicCAS(level + next[e], -1, depth + 1) == -1) changed = 1;
        depth++;
        __syncthreads();
    } while (changed);
}
