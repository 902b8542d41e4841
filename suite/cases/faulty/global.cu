// Faults in global memory, each kernel followed by its clean twin. `fault` marks what is reported, `other` the second place.
typedef unsigned u32;

extern "C" __global__ void tail(u32 *a, u32 *b, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    b[i] = n - i;  // fault: oob_global
}
extern "C" __global__ void tail_clean(u32 *a, u32 *b, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = n - i;
}

// One CTA a row; the columns are taken in whole warps.
extern "C" __global__ void columns(u32 *a, u32 *b, u32 n) {
    u32 sum = 0;
    for (u32 c = threadIdx.x; c < (n + 31) / 32 * 32; c += 32)
        sum += a[blockIdx.x * n + c] ^ c;  // fault: oob_global
    b[blockIdx.x * 32 + threadIdx.x] = sum;
}
extern "C" __global__ void columns_clean(u32 *a, u32 *b, u32 n) {
    u32 sum = 0;
    for (u32 c = threadIdx.x; c < (n + 31) / 32 * 32; c += 32)
        if (c < n) sum += a[blockIdx.x * n + c] ^ c;
    b[blockIdx.x * 32 + threadIdx.x] = sum;
}

// Four words at once, also where fewer are left.
extern "C" __global__ void quads(u32 *a, u32 *b, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (4 * i < n) ((uint4 *)b)[i] = make_uint4(i, 1, 2, 3);  // fault: oob_global
}
extern "C" __global__ void quads_clean(u32 *a, u32 *b, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (4 * i + 3 < n) ((uint4 *)b)[i] = make_uint4(i, 1, 2, 3);
    else for (u32 j = 4 * i; j < n; j++) b[j] = j;
}

// The right neighbour of the last element.
extern "C" __global__ void halo(u32 *a, u32 *b, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = a[i] +
                      a[i + 1];  // fault: oob_global
}
extern "C" __global__ void halo_clean(u32 *a, u32 *b, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = a[i] +
                      (i + 1 < n ? a[i + 1] : 0);
}

// Each CTA takes a share of the elements, rounded up: the last share is shorter.
extern "C" __global__ void shares(u32 *a, u32 *b, u32 n) {
    u32 share = (n + gridDim.x - 1) / gridDim.x;
    for (u32 i = threadIdx.x; i < share; i += blockDim.x)
        b[blockIdx.x * share + i] = i;  // fault: oob_global
}
extern "C" __global__ void shares_clean(u32 *a, u32 *b, u32 n) {
    u32 share = (n + gridDim.x - 1) / gridDim.x;
    for (u32 i = threadIdx.x; i < share; i += blockDim.x)
        if (blockIdx.x * share + i < n) b[blockIdx.x * share + i] = i;
}

// The element before the first, through an unsigned difference.
extern "C" __global__ void before(u32 *a, u32 *b, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = a[(long long)i - 1];  // fault: oob_global
}
extern "C" __global__ void before_clean(u32 *a, u32 *b, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = i > 0 ? a[(long long)i - 1] : 0;
}

// A histogram whose last value has no bin.
extern "C" __global__ void bins(u32 *a, u32 *b, u32 n) {
    u32 i = threadIdx.x;
    b[i] = 0;
    __syncthreads();
    for (u32 j = i; j < n; j += blockDim.x)
        atomicAdd(b + a[j], 1);  // fault: oob_global
}
extern "C" __global__ void bins_clean(u32 *a, u32 *b, u32 n) {
    u32 i = threadIdx.x;
    b[i] = 0;
    __syncthreads();
    for (u32 j = i; j < n; j += blockDim.x)
        atomicAdd(b + min(a[j], 31), 1);
}

// Four words from where n says.
extern "C" __global__ void shifted(u32 *a, u32 *b, u32 n) {
    uint4 v = ((uint4 *)(a + n))[threadIdx.x];  // fault: misaligned
    b[threadIdx.x] = v.x + v.w;
}
extern "C" __global__ void shifted_clean(u32 *a, u32 *b, u32 n) {
    u32 *v = a + n + 4 * threadIdx.x;
    b[threadIdx.x] = v[0] + v[3];
}

// Rows of n words, read in pairs: where n is odd, every other row starts between two pairs.
extern "C" __global__ void pairs(u32 *a, u32 *b, u32 n) {
    u32 i = threadIdx.x;
    if (2 * i + 1 < n) {
        uint2 v = ((uint2 *)(a + blockIdx.x * n))[i];  // fault: misaligned
        b[blockIdx.x * 32 + i] = v.x * v.y;
    }
}
extern "C" __global__ void pairs_clean(u32 *a, u32 *b, u32 n) {
    u32 i = threadIdx.x;
    if (2 * i + 1 < n) {
        u32 *v = a + blockIdx.x * n + 2 * i;
        b[blockIdx.x * 32 + i] = v[0] * v[1];
    }
}

// A double in the middle of a record of n bytes.
extern "C" __global__ void records(u32 *a, u32 *b, u32 n) {
    char *record = (char *)a + threadIdx.x * n;
    *(double *)(record + 8) = 1.5;  // fault: misaligned
}
extern "C" __global__ void records_clean(u32 *a, u32 *b, u32 n) {
    char *record = (char *)a + threadIdx.x * ((n + 7) / 8 * 8);
    *(double *)(record + 8) = 1.5;
}

// The first pass leaves out what does not fill four.
extern "C" __global__ void passes(u32 *a, u32 *b, u32 n) {
    u32 i = threadIdx.x;
    if (i < n / 4)
        for (u32 j = 4 * i; j < 4 * i + 4; j++) b[j] = j;
    __syncthreads();
    if (i < n) {
        u32 v = b[n - 1 - i];  // other: uninit_global
        a[i] = v * 3;          // fault: uninit_global
    }
}
extern "C" __global__ void passes_clean(u32 *a, u32 *b, u32 n) {
    u32 i = threadIdx.x;
    if (i < (n + 3) / 4)
        for (u32 j = 4 * i; j < min(4 * i + 4, n); j++) b[j] = j;
    __syncthreads();
    if (i < n) {
        u32 v = b[n - 1 - i];
        a[i] = v * 3;
    }
}

// Two launches: the first has too few CTAs for n.
extern "C" __global__ void produce(u32 *a, u32 *b, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 32 * 32) b[i] = i;
}
extern "C" __global__ void produce_clean(u32 *a, u32 *b, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = i;
}
extern "C" __global__ void consume(u32 *a, u32 *b, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        u32 v = b[i];    // other: uninit_global
        a[i] = v + 1;    // fault: uninit_global
    }
}
extern "C" __global__ void consume_clean(u32 *a, u32 *b, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        u32 v = b[i];
        a[i] = v + 1;
    }
}

// An index read from memory that nobody wrote.
extern "C" __global__ void indices(u32 *a, u32 *b, u32 n) {
    u32 at = b[threadIdx.x] & 31;   // other: uninit_global
    b[32 + threadIdx.x] = a[at];         // fault: uninit_global
}
extern "C" __global__ void indices_clean(u32 *a, u32 *b, u32 n) {
    b[threadIdx.x] = 31 - threadIdx.x;
    u32 at = b[threadIdx.x] & 31;
    b[32 + threadIdx.x] = a[at];
}

// The grid is n / 64 CTAs: what is left over is never written.
extern "C" __global__ void grid(u32 *a, u32 *b, u32 n) {  // host: unwritten_output
    u32 ctas = n / 64;
    u32 i = blockIdx.x * 64 + threadIdx.x;
    if (blockIdx.x < ctas) b[i] = i;
}
extern "C" __global__ void grid_clean(u32 *a, u32 *b, u32 n) {
    u32 ctas = (n + 63) / 64;
    u32 i = blockIdx.x * 64 + threadIdx.x;
    if (blockIdx.x < ctas && i < n) b[i] = i;
}

// Each thread writes whole groups of four.
extern "C" __global__ void groups(u32 *a, u32 *b, u32 n) {  // host: unwritten_output
    for (u32 j = 4 * threadIdx.x; j + 3 < n; j += 4 * blockDim.x)
        for (u32 k = 0; k < 4; k++) b[j + k] = k;
}
extern "C" __global__ void groups_clean(u32 *a, u32 *b, u32 n) {
    for (u32 j = 4 * threadIdx.x; j < n; j += 4 * blockDim.x)
        for (u32 k = 0; k < 4 && j + k < n; k++) b[j + k] = k;
}
