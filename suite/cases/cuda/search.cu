// Lower bounds in a sorted array.
extern "C" __global__ void k(int *o, const int *sorted, int n, const int *keys, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m) return;
    int low = 0, high = n;
    while (low < high) { int mid = (low + high) / 2; if (sorted[mid] < keys[i]) low = mid + 1; else high = mid; }
    o[i] = low;
}
