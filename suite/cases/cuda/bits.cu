// Counting, finding, moving and mixing bits.
extern "C" __global__ void k(unsigned *o, unsigned long long *l, const unsigned *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned a = x[i], b = x[(i + 1) % n], c = x[(i + 2) % n];
    unsigned long long w = (unsigned long long)a << 32 | b;
    unsigned *p = o + 22 * i;
    p[0] = __popc(a); p[1] = __clz(a); p[2] = __brev(a); p[3] = __ffs(a); p[4] = __byte_perm(a, b, c);
    p[5] = __popcll(w); p[6] = __clzll(w); p[7] = __ffsll(w);
    p[8] = __funnelshift_l(a, b, c); p[9] = __funnelshift_r(a, b, c); p[10] = __funnelshift_lc(a, b, c); p[11] = __funnelshift_rc(a, b, c);
    p[12] = (a >> 5) & 0x1FF; p[13] = (int)(a << 7) >> 20; p[14] = (a & ~0xFF00u) | ((b & 0xFF) << 8);
    p[15] = a ^ b ^ c; p[16] = (a & b) | (~a & c); p[17] = ~(a | b); p[18] = a << (c & 31); p[19] = (int)a >> (b & 31);
    p[20] = (unsigned short)(a & b) ^ (unsigned short)c; p[21] = a ? 1 : 0;
    l[4 * i] = __brevll(w); l[4 * i + 1] = w >> (c & 63); l[4 * i + 2] = (long long)w >> (c & 63); l[4 * i + 3] = (w << (c & 63)) ^ ~w;
}
