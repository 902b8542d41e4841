// Determinants and solutions of 4 x 4 systems by elimination with pivots, in local arrays.
extern "C" __global__ void k(double *det, double *x, const double *m, const double *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double a[4][5], d = 1;
    for (int r = 0; r < 4; r++) { for (int c = 0; c < 4; c++) a[r][c] = m[16 * i + 4 * r + c]; a[r][4] = b[4 * i + r]; }
    for (int c = 0; c < 4; c++) {
        int best = c;
        for (int r = c + 1; r < 4; r++) if (fabs(a[r][c]) > fabs(a[best][c])) best = r;
        if (best != c) { for (int j = 0; j < 5; j++) { double t = a[c][j]; a[c][j] = a[best][j]; a[best][j] = t; } d = -d; }
        d *= a[c][c];
        for (int r = c + 1; r < 4; r++) { double f = a[r][c] / a[c][c]; for (int j = c; j < 5; j++) a[r][j] -= f * a[c][j]; }
    }
    det[i] = d;
    for (int r = 3; r >= 0; r--) { double s = a[r][4]; for (int c = r + 1; c < 4; c++) s -= a[r][c] * x[4 * i + c]; x[4 * i + r] = s / a[r][r]; }
}
