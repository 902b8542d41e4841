// Every atomic on integers in device memory.
extern "C" __global__ void k(int *s, unsigned *u, unsigned long long *l, int *order) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(s, i); atomicSub(s + 1, i); atomicMin(s + 2, 50 - i); atomicMax(s + 3, i * 3); atomicExch(s + 4, 77);
    atomicAnd(u, ~(1u << i % 32)); atomicOr(u + 1, 1u << i % 29); atomicXor(u + 2, i); atomicMin(u + 3, 1000u - i); atomicMax(u + 4, (unsigned)i * 7);
    unsigned a = atomicInc(u + 5, 10), b = atomicDec(u + 6, 10), c = atomicAdd(u + 7, 2u);
    atomicCAS(u + 8, 5u, 6u);
    atomicAdd(l, (unsigned long long)i << 30); atomicMax(l + 1, (unsigned long long)i << 33); atomicOr(l + 2, 1ull << i % 64); atomicMin((long long *)l + 3, -(long long)i);
    atomicCAS(l + 4, 9ull, 1ull << 40); atomicXor(l + 5, 1ull << i % 60); atomicExch(l + 6, 123ull); atomicAnd(l + 7, ~(1ull << i % 50));
    order[i] = (int)(a <= 10 && b <= 10 && c % 2 == 0);
    atomicAdd(order + 128 + c / 2, 1);
    int old = atomicExch(s + 5, i), old2 = atomicMin(s + 6, i), old3 = atomicMax(s + 7, i);
    unsigned old4 = atomicXor(u + 9, 1u), old5 = atomicOr(u + 10, 2u), old6 = atomicAnd(u + 11, 3u), old7 = atomicMin(u + 12, 9u), old8 = atomicMax(u + 13, 9u);
    unsigned long long old9 = atomicAdd(l + 8, 1ull), old10 = atomicMax(l + 9, 5ull), old11 = atomicOr(l + 10, 6ull);
    long long old12 = atomicMin((long long *)l + 11, -5ll);
    order[i] += (old <= 127) + (old2 >= 0) + (old3 >= 0) + (old4 <= 1) + ((old5 | 2) == 2) + ((old6 & 3) == 3) + (old7 >= 9) + (old8 <= 9) + (old9 < 128) + (old10 <= 5) + ((old11 | 6) == 6) + (old12 >= -5);
}
