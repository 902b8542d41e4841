// A fast Fourier transform of 64 points in shared memory, in doubles.
extern "C" __global__ void k(double2 *x, const double2 *roots) {
    __shared__ double2 s[64];
    int i = threadIdx.x;
    s[__brev(i) >> 26] = x[blockIdx.x * 64 + i];
    s[__brev(i + 32) >> 26] = x[blockIdx.x * 64 + i + 32];
    for (int half = 1; half < 64; half *= 2) {
        __syncthreads();
        int a = i / half * half * 2 + i % half, b = a + half;
        double2 w = roots[i % half * (32 / half)], u = s[a], v = s[b];
        double re = v.x * w.x - v.y * w.y, im = v.x * w.y + v.y * w.x;
        s[a] = make_double2(u.x + re, u.y + im);
        s[b] = make_double2(u.x - re, u.y - im);
    }
    __syncthreads();
    x[blockIdx.x * 64 + i] = s[i];
    x[blockIdx.x * 64 + i + 32] = s[i + 32];
}
