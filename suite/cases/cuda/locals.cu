// Local arrays indexed at run time, their addresses passed on, and sorting in place.
__device__ __noinline__ void sort(int *a, int n) {
    for (int i = 1; i < n; i++) {
        int x = a[i], j = i;
        while (j > 0 && a[j - 1] > x) { a[j] = a[j - 1]; j--; }
        a[j] = x;
    }
}
extern "C" __global__ void k(int *out, const int *in, const unsigned char *order) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int a[17];
    for (int j = 0; j < 17; j++) a[j] = in[i * 17 + j];
    sort(a, 17);
    short h[8];
    double d[4];
    char c[6];
    for (int j = 0; j < 8; j++) h[j] = (short)(a[j] * 3);
    for (int j = 0; j < 4; j++) d[j] = a[j] * 0.5;
    for (int j = 0; j < 6; j++) c[j] = (char)a[j];
    int s = 0;
    for (int j = 0; j < 6; j++) { int o = order[(i + j) % 64]; s += h[o % 8] + (int)d[o % 4] + c[o % 6]; }
    for (int j = 0; j < 17; j++) out[i * 18 + j] = a[j];
    out[i * 18 + 17] = s;
}
