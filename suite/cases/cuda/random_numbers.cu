// Generators: xorshift with 128 bits, a linear one with 64 bits, and Philox rounds.
extern "C" __global__ void k(unsigned *o, unsigned long long seed) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, x = i + 1, y = 362436069, z = 521288629, w = 88675123;
    for (int j = 0; j < 20; j++) { unsigned t = x ^ x << 11; x = y; y = z; z = w; w ^= w >> 19 ^ t ^ t >> 8; }
    unsigned long long s = seed + i;
    for (int j = 0; j < 20; j++) s = s * 6364136223846793005ull + 1442695040888963407ull;
    uint4 c = make_uint4(i, 0, 7, 9);
    uint2 key = make_uint2((unsigned)seed, (unsigned)(seed >> 32));
    for (int j = 0; j < 10; j++) {
        unsigned a = __umulhi(0xD2511F53u, c.x), b = 0xD2511F53u * c.x, d = __umulhi(0xCD9E8D57u, c.z), e = 0xCD9E8D57u * c.z;
        c = make_uint4(d ^ c.y ^ key.x, e, a ^ c.w ^ key.y, b);
        key.x += 0x9E3779B9u; key.y += 0xBB67AE85u;
    }
    o[6 * i] = w; o[6 * i + 1] = (unsigned)(s >> 33);
    o[6 * i + 2] = c.x; o[6 * i + 3] = c.y; o[6 * i + 4] = c.z; o[6 * i + 5] = c.w;
}
