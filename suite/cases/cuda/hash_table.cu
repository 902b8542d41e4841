// Counting keys in an open table whose slots are taken by compare and swap.
extern "C" __global__ void k(unsigned *slots, unsigned *counts, const unsigned *keys, int n, int size) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned key = keys[i], at = key * 2654435761u % size;
    while (true) {
        unsigned old = atomicCAS(slots + at, 0u, key);
        if (old == 0 || old == key) { atomicAdd(counts + key, 1u); return; }
        at = (at + 1) % size;
    }
}
