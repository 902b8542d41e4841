// Faults in shared, local and constant memory, each kernel followed by its clean twin.
typedef unsigned u32;

// The tile of a CTA and its two neighbours, in dynamic memory for the CTA alone.
extern "C" __global__ void margins(u32 *a, u32 *b, u32 n) {
    extern __shared__ u32 tile[];
    u32 i = threadIdx.x;
    tile[i + 1] = a[i];  // fault: oob_shared
    __syncthreads();
    b[i] = i > 0 ? tile[i] : 0;
}
extern "C" __global__ void margins_clean(u32 *a, u32 *b, u32 n) {
    extern __shared__ u32 tile[];
    u32 i = threadIdx.x;
    if (i + 1 < blockDim.x) tile[i + 1] = a[i];
    __syncthreads();
    b[i] = i > 0 ? tile[i] : 0;
}

// A slot for each of four warps.
extern "C" __global__ void slots(u32 *a, u32 *b, u32 n) {
    __shared__ u32 sums[4];
    u32 warp = threadIdx.x / 32, sum = __reduce_add_sync(~0u, a[threadIdx.x]);
    if (threadIdx.x % 32 == 0) sums[warp] = sum;  // fault: oob_shared
    __syncthreads();
    if (threadIdx.x < 4) b[threadIdx.x] = threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0;
}
extern "C" __global__ void slots_clean(u32 *a, u32 *b, u32 n) {
    __shared__ u32 sums[32];
    u32 warp = threadIdx.x / 32, sum = __reduce_add_sync(~0u, a[threadIdx.x]);
    if (threadIdx.x % 32 == 0) sums[warp] = sum;
    __syncthreads();
    if (threadIdx.x < 4) b[threadIdx.x] = threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0;
}

// A tile of 8 rows of 8, padded to 9 in the index and not in the array.
extern "C" __global__ void padded(u32 *a, u32 *b, u32 n) {
    __shared__ u32 tile[64];
    u32 x = threadIdx.x % 8, y = threadIdx.x / 8;
    tile[x * 9 + y] = a[threadIdx.x];  // fault: oob_shared
    __syncthreads();
    b[threadIdx.x] = tile[y];
}
extern "C" __global__ void padded_clean(u32 *a, u32 *b, u32 n) {
    __shared__ u32 tile[72];
    u32 x = threadIdx.x % 8, y = threadIdx.x / 8;
    tile[x * 9 + y] = a[threadIdx.x];
    __syncthreads();
    b[threadIdx.x] = tile[y];
}

// A stack of eight.
extern "C" __global__ void stack(u32 *a, u32 *b, u32 n) {
    u32 own[8];
    for (u32 k = 0; k < 8; k++) own[k] = k;
    for (u32 k = 0; k < n; k++)
        own[a[k] & 15] += threadIdx.x;  // fault: oob_local
    b[threadIdx.x] = own[a[0] & 7] + own[a[1] & 7];
}
extern "C" __global__ void stack_clean(u32 *a, u32 *b, u32 n) {
    u32 own[16];
    for (u32 k = 0; k < 16; k++) own[k] = k;
    for (u32 k = 0; k < n; k++)
        own[a[k] & 15] += threadIdx.x;
    b[threadIdx.x] = own[a[0] & 7] + own[a[1] & 7];
}

// A table for 32 threads.
__constant__ u32 weights[32] = {3, 1, 4, 1, 5, 9, 2, 6};
extern "C" __global__ void table(u32 *a, u32 *b, u32 n) {
    b[threadIdx.x] = weights[threadIdx.x] * n;  // fault: oob_const
}
extern "C" __global__ void table_clean(u32 *a, u32 *b, u32 n) {
    b[threadIdx.x] = weights[threadIdx.x % 32] * n;
}

// Doubles behind n words of shared memory.
extern "C" __global__ void behind(u32 *a, u32 *b, u32 n) {
    extern __shared__ __align__(16) u32 area[];
    double *d = (double *)(area + n);
    d[threadIdx.x] = threadIdx.x;  // fault: misaligned
}
extern "C" __global__ void behind_clean(u32 *a, u32 *b, u32 n) {
    extern __shared__ __align__(16) u32 area[];
    double *d = (double *)(area + (n + 1) / 2 * 2);
    d[threadIdx.x] = threadIdx.x;
}

// A tile of which the part behind n is not filled.
extern "C" __global__ void unfilled(u32 *a, u32 *b, u32 n) {
    __shared__ u32 tile[64];
    u32 i = threadIdx.x;
    if (i < n) tile[i] = a[i];
    __syncthreads();
    u32 v = tile[63 - i];  // other: uninit_shared
    b[i] = v * 3;          // fault: uninit_shared
}
extern "C" __global__ void unfilled_clean(u32 *a, u32 *b, u32 n) {
    __shared__ u32 tile[64];
    u32 i = threadIdx.x;
    tile[i] = i < n ? a[i] : 0;
    __syncthreads();
    u32 v = tile[63 - i];
    b[i] = v * 3;
}

// The sum over 32 warps, however many there are.
extern "C" __global__ void all_warps(u32 *a, u32 *b, u32 n) {
    __shared__ u32 sums[4];
    u32 sum = __reduce_add_sync(~0u, a[threadIdx.x]);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    u32 total = 0;
    for (u32 w = 0; w < 4; w++)
        total +=      // fault: uninit_shared
            sums[w];  // fault: uninit_shared
    b[threadIdx.x] = total;
}
extern "C" __global__ void all_warps_clean(u32 *a, u32 *b, u32 n) {
    __shared__ u32 sums[4];
    u32 sum = __reduce_add_sync(~0u, a[threadIdx.x]);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    u32 total = 0;
    for (u32 w = 0; w < blockDim.x / 32; w++)
        total +=
            sums[w];
    b[threadIdx.x] = total;
}

// n of eight are filled, all are added up.
extern "C" __global__ void eight(u32 *a, u32 *b, u32 n) {
    u32 own[8], sum = 0;
    for (u32 k = 0; k < n; k++) own[a[k] & 7] = k + threadIdx.x;
    for (u32 k = 0; k < 8; k++) {
        u32 v = own[a[k] & 7];  // other: uninit_local
        sum += v * 5;           // fault: uninit_local
    }
    b[threadIdx.x] = sum;
}
extern "C" __global__ void eight_clean(u32 *a, u32 *b, u32 n) {
    u32 own[8], sum = 0;
    for (u32 k = 0; k < n; k++) own[a[k] & 7] = k + threadIdx.x;
    for (u32 k = 0; k < n; k++) {
        u32 v = own[a[k] & 7];
        sum += v * 5;
    }
    b[threadIdx.x] = sum;
}

// The generic address of shared memory where global memory is named.
extern "C" __global__ void named(u32 *a, u32 *b, u32 n) {
    __shared__ u32 tile[32];
    u32 *p = threadIdx.x < n ? b + threadIdx.x : tile + threadIdx.x;
    asm volatile("st.global.u32 [%0], %1;" :: "l"(p), "r"(n) : "memory");  // fault: bad_space
}
extern "C" __global__ void named_clean(u32 *a, u32 *b, u32 n) {
    __shared__ u32 tile[32];
    u32 *p = threadIdx.x < n ? b + threadIdx.x : tile + threadIdx.x;
    asm volatile("st.u32 [%0], %1;" :: "l"(p), "r"(n) : "memory");
}

// Dynamic shared memory for n words.
extern "C" __global__ void demand(u32 *a, u32 *b, u32 n) {  // fault: shared_limit
    extern __shared__ u32 area[];
    area[threadIdx.x] = n;
    b[threadIdx.x] = area[threadIdx.x];
}
extern "C" __global__ void demand_clean(u32 *a, u32 *b, u32 n) {
    extern __shared__ u32 area[];
    area[threadIdx.x] = n;
    b[threadIdx.x] = area[threadIdx.x];
}

// A tree of sums whose first half reads before the second has written.
extern "C" __global__ void tree(u32 *a, u32 *b, u32 n) {
    __shared__ u32 s[64];
    u32 i = threadIdx.x;
    s[i] = a[i];                             // fault: race_shared
    if (i < 32) s[i] += s[i + 32];           // fault: race_shared, other: uninit_shared
    __syncthreads();
    b[i] = s[0];
}
extern "C" __global__ void tree_clean(u32 *a, u32 *b, u32 n) {
    __shared__ u32 s[64];
    u32 i = threadIdx.x;
    s[i] = a[i];
    __syncthreads();
    if (i < 32) s[i] += s[i + 32];
    __syncthreads();
    b[i] = s[0];
}

// Tiles one after the other through one buffer: the second overwrites what slow warps still read.
extern "C" __global__ void tiles(u32 *a, u32 *b, u32 n) {
    __shared__ u32 tile[64];
    u32 i = threadIdx.x, sum = 0;
    for (u32 start = 0; start < n; start += 64) {
        tile[i] = start + i < n ? a[start + i] : 0;  // fault: race_shared
        __syncthreads();
        sum += tile[i ^ 32];                         // other: race_shared
    }
    b[i] = sum;
}
extern "C" __global__ void tiles_clean(u32 *a, u32 *b, u32 n) {
    __shared__ u32 tile[2][64];
    u32 i = threadIdx.x, sum = 0, turn = 0;
    for (u32 start = 0; start < n; start += 64, turn ^= 1) {
        tile[turn][i] = start + i < n ? a[start + i] : 0;
        __syncthreads();
        sum += tile[turn][i ^ 32];
    }
    b[i] = sum;
}

// Lanes exchange without a barrier of the warp.
extern "C" __global__ void exchange(u32 *a, u32 *b, u32 n) {
    __shared__ u32 s[32];
    u32 i = threadIdx.x;
    s[i] = a[i] * n;          // other: race_shared
    b[i] = s[31 - i];         // fault: race_shared
}
extern "C" __global__ void exchange_clean(u32 *a, u32 *b, u32 n) {
    __shared__ u32 s[32];
    u32 i = threadIdx.x;
    s[i] = a[i] * n;
    __syncwarp();
    b[i] = s[31 - i];
}

// A barrier of the warp where there may be several warps.
extern "C" __global__ void warp_only(u32 *a, u32 *b, u32 n) {
    __shared__ u32 s[96];
    u32 i = threadIdx.x;
    s[i] = a[i] * n;                  // fault: race_shared
    __syncwarp();
    b[i] = s[blockDim.x - 1 - i];     // fault: race_shared
}
extern "C" __global__ void warp_only_clean(u32 *a, u32 *b, u32 n) {
    __shared__ u32 s[96];
    u32 i = threadIdx.x;
    s[i] = a[i] * n;
    __syncthreads();
    b[i] = s[blockDim.x - 1 - i];
}

// A histogram: equal values add to one bin.
extern "C" __global__ void histogram(u32 *a, u32 *b, u32 n) {
    __shared__ u32 bins[16];
    u32 i = threadIdx.x;
    if (i < 16) bins[i] = 0;
    __syncthreads();
    for (u32 j = i; j < n; j += blockDim.x)
        bins[a[j] % 16] += 1;  // fault: race_shared, other: benign_race
    __syncthreads();
    if (i < 16) b[i] = bins[i];
}
extern "C" __global__ void histogram_clean(u32 *a, u32 *b, u32 n) {
    __shared__ u32 bins[16];
    u32 i = threadIdx.x;
    if (i < 16) bins[i] = 0;
    __syncthreads();
    for (u32 j = i; j < n; j += blockDim.x)
        atomicAdd(bins + a[j] % 16, 1);
    __syncthreads();
    if (i < 16) b[i] = bins[i];
}
