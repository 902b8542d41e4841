// Edit distance of pairs of strings by antidiagonals.
extern "C" __global__ void k(int *o, const char *a, const char *b, int n) {
    __shared__ int d[3][65];
    const char *x = a + blockIdx.x * n, *y = b + blockIdx.x * n;
    int i = threadIdx.x;
    for (int sum = 0; sum <= 2 * n; sum++) {
        int j = sum - i;
        if (i <= n && j >= 0 && j <= n) {
            int best;
            if (i == 0) best = j;
            else if (j == 0) best = i;
            else best = min(min(d[(sum + 2) % 3][i - 1], d[(sum + 2) % 3][i]) + 1, d[(sum + 1) % 3][i - 1] + (x[i - 1] != y[j - 1]));
            d[sum % 3][i] = best;
        }
        __syncthreads();
    }
    if (i == n) o[blockIdx.x] = d[2 * n % 3][n];
}
