// Constant memory of all widths, initialised and set by the host; initialised device memory; pointers in it.
__constant__ float weights[16];
__constant__ int steps[4] = {1, -2, 30000, 4};
__constant__ short halves[5] = {7, -8, 900, -1000, 11};
__constant__ signed char bytes[3] = {-1, 2, -3};
__constant__ double half_pi = 1.5707963267948966;
__constant__ unsigned long long big = 0x123456789ABCDEF0ull;
__device__ int counter[3] = {5, 6, 7};
__device__ const int *where[2] = {steps + 1, counter + 2};
struct Node { int value; const Node *next; };
__device__ Node third = {3, nullptr};
__device__ Node second = {2, &third};
__device__ Node head = {1, &second};
extern "C" __global__ void k(float *f, int *g, double *d, unsigned long long *u) {
    int i = threadIdx.x;
    f[i] = weights[i % 16] * (float)steps[i % 4];
    int sum = 0;
    for (const Node *n = &head; n; n = n->next) sum = sum * 10 + n->value;
    g[i] = *where[i & 1] + halves[i % 5] + bytes[i % 3] + counter[0] + sum;
    d[i] = half_pi * i;
    u[i] = big >> (i % 64);
}
