// Runs of equal values: where they start, and how long they are.
extern "C" __global__ void k(int *start, int *length, int *count, const int *x, int n) {
    __shared__ int sums[128];
    int i = threadIdx.x, head = i < n && (i == 0 || x[i] != x[i - 1]);
    sums[i] = head;
    for (int d = 1; d < 128; d *= 2) { __syncthreads(); int t = i >= d ? sums[i - d] : 0; __syncthreads(); sums[i] += t; }
    __syncthreads();
    int runs = sums[127];
    if (head) start[sums[i] - 1] = i;
    __syncthreads();
    if (i < runs) length[i] = (i + 1 < runs ? start[i + 1] : n) - start[i];
    if (i == 0) *count = runs;
}
