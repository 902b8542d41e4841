// Greatest divisors, powers in a ring, and primality by trial.
__device__ unsigned gcd(unsigned a, unsigned b) { while (b) { unsigned t = a % b; a = b; b = t; } return a; }
__device__ __noinline__ unsigned power(unsigned base, unsigned e, unsigned m) {
    unsigned long long r = 1, b = base % m;
    for (; e; e >>= 1) { if (e & 1) r = r * b % m; b = b * b % m; }
    return (unsigned)r;
}
extern "C" __global__ void k(unsigned *o, const unsigned *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned a = x[i], b = x[(i + 1) % n];
    o[3 * i] = gcd(a, b);
    o[3 * i + 1] = power(a, b, 1000003);
    unsigned c = a % 5000 + 2, prime = 1;
    for (unsigned d = 2; d * d <= c; d++) if (c % d == 0) { prime = 0; break; }
    o[3 * i + 2] = prime;
}
