// Steps to one and the highest value on the way.
extern "C" __global__ void k(int *steps, unsigned long long *top, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long v = i + 1, high = v;
    int count = 0;
    while (v != 1) { v = v & 1 ? 3 * v + 1 : v / 2; if (v > high) high = v; count++; }
    steps[i] = count; top[i] = high;
}
