// Races between CTAs of a launch, each kernel followed by its clean twin.
typedef unsigned u32;

// Each element takes the value of its right neighbour, in place: one CTA may do that, two may not.
extern "C" __global__ void in_place(u32 *a, u32 *b, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 v = i + 1 < n ? a[i + 1] : 0;  // other: race_global
    __syncthreads();
    if (i < n) a[i] = v;               // fault: race_global
}
extern "C" __global__ void in_place_clean(u32 *a, u32 *b, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 v = i + 1 < n ? a[i + 1] : 0;
    __syncthreads();
    if (i < n) b[i] = v;
}

// The last CTA adds up what all have written.
extern "C" __global__ void last_block(u32 *a, u32 *b, u32 n) {
    __shared__ u32 ticket;
    if (threadIdx.x == 0) {
        b[blockIdx.x] = a[blockIdx.x] * n;  // fault: race_global
        ticket = atomicAdd(a + 64, 1);
    }
    __syncthreads();
    if (ticket == gridDim.x - 1 && threadIdx.x < gridDim.x)
        a[128 + threadIdx.x] =
            b[threadIdx.x] + 1;             // fault: race_global
}
extern "C" __global__ void last_block_clean(u32 *a, u32 *b, u32 n) {
    __shared__ u32 ticket;
    if (threadIdx.x == 0) {
        b[blockIdx.x] = a[blockIdx.x] * n;
        __threadfence();
        ticket = atomicAdd(a + 64, 1);
    }
    __syncthreads();
    if (ticket == gridDim.x - 1 && threadIdx.x < gridDim.x) {
        __threadfence();
        a[128 + threadIdx.x] =
            b[threadIdx.x] + 1;
    }
}

// A message from CTA 0 to the others, with a flag; all exist at once.
extern "C" __global__ void message(u32 *a, u32 *b, u32 n) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        b[1] = n * 7;                               // fault: race_global
        *(volatile u32 *)(a + 200) = 1;
    } else {
        while (*(volatile u32 *)(a + 200) != 1) {}
        b[2 + blockIdx.x] = b[1] + blockIdx.x;      // fault: race_global
    }
}
extern "C" __global__ void message_clean(u32 *a, u32 *b, u32 n) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        b[1] = n * 7;
        __threadfence();
        *(volatile u32 *)(a + 200) = 1;
    } else {
        while (*(volatile u32 *)(a + 200) != 1) {}
        __threadfence();
        b[2 + blockIdx.x] = b[1] + blockIdx.x;
    }
}

// The same by release and acquire; the faulty one releases for its own CTA only.
__device__ __forceinline__ u32 acquire(u32 *p) {
    u32 v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(__cvta_generic_to_global(p)) : "memory");  // other: race_global
    return v;
}
extern "C" __global__ void release_scope(u32 *a, u32 *b, u32 n) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        b[1] = n * 7;                               // fault: race_global
        asm volatile("st.release.cta.global.u32 [%0], 1;" :: "l"(__cvta_generic_to_global(a + 200)) : "memory");  // other: race_global
    } else {
        while (acquire(a + 200) != 1) {}
        b[2 + blockIdx.x] = b[1] + blockIdx.x;      // fault: race_global
    }
}
extern "C" __global__ void release_scope_clean(u32 *a, u32 *b, u32 n) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        b[1] = n * 7;
        asm volatile("st.release.gpu.global.u32 [%0], 1;" :: "l"(__cvta_generic_to_global(a + 200)) : "memory");
    } else {
        while (acquire(a + 200) != 1) {}
        b[2 + blockIdx.x] = b[1] + blockIdx.x;
    }
}

// Shares rounded up with one more: neighbours overlap where n is no multiple of the grid.
extern "C" __global__ void overlap(u32 *a, u32 *b, u32 n) {
    u32 share = n / gridDim.x + (n % gridDim.x != 0), start = blockIdx.x * (n / gridDim.x);
    for (u32 i = threadIdx.x; i < share; i += blockDim.x)
        b[start + i] = blockIdx.x * 1000 + i;  // fault: race_global
}
extern "C" __global__ void overlap_clean(u32 *a, u32 *b, u32 n) {
    u32 share = n / gridDim.x + (n % gridDim.x != 0), start = blockIdx.x * share;
    for (u32 i = threadIdx.x; i < share; i += blockDim.x)
        if (start + i < n) b[start + i] = blockIdx.x * 1000 + i;
}

// A counter that all threads raise; the twin raises it once a warp.
extern "C" __global__ void counter(u32 *a, u32 *b, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && a[i] % 3 == 0) {
        u32 slot = a[255];     // fault: race_global
        a[255] = slot + 1;     // fault: race_global, other: benign_race
        b[i] = slot;
    }
}
extern "C" __global__ void counter_clean(u32 *a, u32 *b, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && a[i] % 3 == 0) {
        u32 mates = __activemask(), first = __ffs(mates) - 1, lane = threadIdx.x & 31, base = 0;
        if (lane == first) base = atomicAdd(a + 255, __popc(mates));
        u32 slot = __shfl_sync(mates, base, first) + __popc(mates & ((1u << lane) - 1));
        b[i] = slot;
    }
}

// All CTAs write, then all read: with a barrier of the whole grid between.
__device__ __forceinline__ void grid_barrier(u32 *count) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(count, 1);
        while (*(volatile u32 *)count < gridDim.x) {}
        __threadfence();
    }
    __syncthreads();
}
extern "C" __global__ void grid_wide(u32 *a, u32 *b, u32 n) {
    b[blockIdx.x * 32 + threadIdx.x] = a[threadIdx.x];            // fault: race_global
    __syncthreads();
    u32 next = (blockIdx.x + 1) % gridDim.x;
    a[64 + blockIdx.x * 32 + threadIdx.x] =
        b[next * 32 + threadIdx.x] ^ 1;                           // fault: race_global
}
extern "C" __global__ void grid_wide_clean(u32 *a, u32 *b, u32 n) {
    b[blockIdx.x * 32 + threadIdx.x] = a[threadIdx.x];
    grid_barrier(a + 255);
    u32 next = (blockIdx.x + 1) % gridDim.x;
    a[64 + blockIdx.x * 32 + threadIdx.x] =
        b[next * 32 + threadIdx.x] ^ 1;
}

// Every thread says that something was found.
extern "C" __global__ void found(u32 *a, u32 *b, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && a[i] > 5) b[0] = 1;  // fault: benign_race
}
extern "C" __global__ void found_clean(u32 *a, u32 *b, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && a[i] > 5) atomicExch(b, 1);
}
