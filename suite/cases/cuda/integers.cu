// Products, quotients and differences of all widths.
extern "C" __global__ void k(int *o, long long *l, const int *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int a = x[i], b = x[(i + 1) % n], c = x[(i + 2) % n];
    unsigned ua = a, ub = b ? b : 1;
    long long w = (long long)a * c, v = b ? b : 3;
    int *p = o + 22 * i;
    p[0] = __mulhi(a, b); p[1] = __umulhi(ua, b); p[2] = __mul24(a, b); p[3] = __umul24(ua, b); p[4] = __sad(a, b, c); p[5] = __usad(ua, b, c);
    p[6] = a / (b ? b : 7); p[7] = a % (b ? b : 7); p[8] = ua / ub; p[9] = ua % ub; p[10] = max(a, b); p[11] = min(a, b); p[12] = max(ua, (unsigned)b); p[13] = min(ua, (unsigned)b);
    p[14] = abs(a); p[15] = a * b + c; p[16] = (short)a * (short)b; p[17] = (unsigned short)a / (unsigned short)(ub | 1); p[18] = __hadd(a, b); p[19] = -a;
    p[20] = a / 10; p[21] = ua % 1000;
    long long *q = l + 10 * i;
    q[0] = w; q[1] = w / v; q[2] = w % v; q[3] = (unsigned long long)w / (unsigned long long)(unsigned)ub; q[4] = __mul64hi(w, v); q[5] = __umul64hi(w, v);
    q[6] = max(w, v); q[7] = min(w, v); q[8] = llabs(w); q[9] = (unsigned long long)ua * ub;
}
