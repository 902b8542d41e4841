// Integers of 128 bits: products, quotients, shifts and comparisons.
typedef unsigned __int128 u128;
typedef __int128 i128;
extern "C" __global__ void k(ulonglong2 *o, const ulonglong2 *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u128 a = (u128)x[i].y << 64 | x[i].x, b = (u128)x[(i + 1) % n].y << 64 | x[(i + 1) % n].x | 1;
    u128 r[8] = {a + b, a - b, a * b, a / b, a % b, a >> i, a << i, (u128)((i128)a >> 3)};
    if ((i128)a < (i128)b) r[7] = ~r[7];
    for (int j = 0; j < 8; j++) o[8 * i + j] = make_ulonglong2((unsigned long long)r[j], (unsigned long long)(r[j] >> 64));
}
