// SHA-256 of one padded block for each thread.
__constant__ unsigned K[64];
__device__ unsigned rot(unsigned x, int n) { return x >> n | x << (32 - n); }
extern "C" __global__ void k(unsigned *o, const unsigned char *text, int length) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned w[64], s[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}, h[8];
    for (int t = 0; t < 16; t++) {
        w[t] = 0;
        for (int b = 0; b < 4; b++) { int at = 4 * t + b; unsigned c = at < length ? text[i * length + at] : at == length ? 0x80 : 0; w[t] = w[t] << 8 | c; }
    }
    w[15] = length * 8;
    for (int t = 16; t < 64; t++) w[t] = (rot(w[t - 2], 17) ^ rot(w[t - 2], 19) ^ w[t - 2] >> 10) + w[t - 7] + (rot(w[t - 15], 7) ^ rot(w[t - 15], 18) ^ w[t - 15] >> 3) + w[t - 16];
    for (int j = 0; j < 8; j++) h[j] = s[j];
    for (int t = 0; t < 64; t++) {
        unsigned a = h[7] + (rot(h[4], 6) ^ rot(h[4], 11) ^ rot(h[4], 25)) + ((h[4] & h[5]) ^ (~h[4] & h[6])) + K[t] + w[t];
        unsigned b = (rot(h[0], 2) ^ rot(h[0], 13) ^ rot(h[0], 22)) + ((h[0] & h[1]) ^ (h[0] & h[2]) ^ (h[1] & h[2]));
        h[7] = h[6]; h[6] = h[5]; h[5] = h[4]; h[4] = h[3] + a; h[3] = h[2]; h[2] = h[1]; h[1] = h[0]; h[0] = a + b;
    }
    for (int j = 0; j < 8; j++) o[8 * i + j] = s[j] + h[j];
}
