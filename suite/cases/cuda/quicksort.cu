// A recursive sort in local memory, one array for each thread.
__device__ __noinline__ void sort(int *a, int low, int high) {
    if (low >= high) return;
    int pivot = a[(low + high) / 2], i = low, j = high;
    while (i <= j) {
        while (a[i] < pivot) i++;
        while (a[j] > pivot) j--;
        if (i <= j) { int t = a[i]; a[i] = a[j]; a[j] = t; i++; j--; }
    }
    sort(a, low, j);
    sort(a, i, high);
}
extern "C" __global__ void k(int *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, a[24];
    if (i >= n) return;
    for (int j = 0; j < 24; j++) a[j] = x[i * 24 + j];
    sort(a, 0, 23);
    for (int j = 0; j < 24; j++) x[i * 24 + j] = a[j];
}
