// Kernels whose result depends on the order of CTAs and warps, each followed by a twin whose result does not.
typedef unsigned u32;

#define KERNEL(name) extern "C" __global__ void name(u32 *a, u32 *b, u32 n)

__device__ __forceinline__ u32 scramble(u32 x) { return (x ^ 61) * 2654435761u >> 7; }
__device__ __forceinline__ void lock(u32 *l) {
    while (atomicCAS(l, 0u, 1u) != 0) {}
    __threadfence();
}
__device__ __forceinline__ void unlock(u32 *l) {
    __threadfence();
    atomicExch(l, 0u);
}

// Who writes last stays.
KERNEL(last_writer) { if (threadIdx.x == 0) b[0] = blockIdx.x; }
KERNEL(last_writer_clean) { if (threadIdx.x == 0) atomicMax(a + 200, blockIdx.x); }

// Tickets as places.
KERNEL(tickets) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) b[atomicAdd(a + 200, 1)] = i;
}
KERNEL(tickets_clean) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) { atomicAdd(a + 200, 1); b[blockIdx.x] = i; }
}

// Sums of floats of many sizes, and of integers.
KERNEL(float_sum) {
    if (threadIdx.x == 0) atomicAdd((float *)a + 200, 1.0f / (blockIdx.x * blockIdx.x * 7 + 3));
}
KERNEL(float_sum_clean) {
    if (threadIdx.x == 0) atomicAdd(a + 200, 1000000u / (blockIdx.x * blockIdx.x * 7 + 3));
}

// The right neighbour's value, in place and not.
KERNEL(neighbour) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x, v = a[(i + 1) % n];
    a[i] = v + 1;
}
KERNEL(neighbour_clean) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x, v = a[(i + 1) % n];
    b[i] = v + 1;
}

// What was there before: the CTA before, in time.
KERNEL(chain) { if (threadIdx.x == 0) b[blockIdx.x] = atomicExch(a + 200, blockIdx.x + 1); }
KERNEL(chain_clean) { if (threadIdx.x == 0) { atomicAdd(a + 200, blockIdx.x + 1); b[blockIdx.x] = blockIdx.x; } }

// The first that comes wins; in the twin the smallest.
KERNEL(winner) { if (threadIdx.x == 0) atomicCAS(a + 200, 0u, blockIdx.x + 1); }
KERNEL(winner_clean) { if (threadIdx.x == 0) atomicMin(a + 5, blockIdx.x + 1); }

// A warp reads what another wrote, without a barrier and with one.
KERNEL(other_warp) {
    __shared__ u32 s[64];
    s[threadIdx.x] = 7;
    __syncthreads();
    s[threadIdx.x] = threadIdx.x;
    b[threadIdx.x] = s[threadIdx.x ^ 32];
}
KERNEL(other_warp_clean) {
    __shared__ u32 s[64];
    s[threadIdx.x] = 7;
    __syncthreads();
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    b[threadIdx.x] = s[threadIdx.x ^ 32];
}

// Updates that are lost.
KERNEL(lost) {
    for (u32 k = 0; k < 8; k++) {
        u32 v = *(volatile u32 *)(a + 200);
        for (u32 j = 0; j < v % 3; j++) __nanosleep(1);
        *(volatile u32 *)(a + 200) = v + 1;
    }
}
KERNEL(lost_clean) {
    for (u32 k = 0; k < 8; k++) atomicAdd(a + 200, 1);
}

// Under a lock, an update that does not commute, and one that does.
KERNEL(locked) {
    if (threadIdx.x != 0) return;
    lock(a + 201);
    a[200] = a[200] * 3 + blockIdx.x;
    unlock(a + 201);
}
KERNEL(locked_clean) {
    if (threadIdx.x != 0) return;
    lock(a + 201);
    a[200] = a[200] + 3 * blockIdx.x;
    unlock(a + 201);
}

// A list by its head: each has who came before it. The twin counts.
KERNEL(list) { if (threadIdx.x % 32 == 0) b[blockIdx.x * 2 + threadIdx.x / 32] = atomicExch(a + 200, blockIdx.x * 2 + threadIdx.x / 32 + 1); }
KERNEL(list_clean) { if (threadIdx.x % 32 == 0) { b[blockIdx.x * 2 + threadIdx.x / 32] = 1; atomicAdd(a + 200, 1); } }

// The first match that is found, and the match that is first.
KERNEL(match) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 5 == 3) atomicCAS(a + 200, 0u, i);
}
KERNEL(match_clean) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 5 == 3) atomicMin(a + 47, i);
}

// Work that is taken as CTAs come to it: who did it, and what it is.
KERNEL(workers) {
    if (threadIdx.x != 0) return;
    for (u32 t = atomicAdd(a + 200, 1); t < n; t = atomicAdd(a + 200, 1)) b[t] = blockIdx.x;
}
KERNEL(workers_clean) {
    if (threadIdx.x != 0) return;
    for (u32 t = atomicAdd(a + 200, 1); t < n; t = atomicAdd(a + 200, 1)) b[t] = t * t;
}

// A warp that puts itself forward, and the first one.
KERNEL(leader) {
    __shared__ u32 s;
    if (threadIdx.x % 32 == 0) s = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) b[blockIdx.x] = s;
}
KERNEL(leader_clean) {
    __shared__ u32 s;
    if (threadIdx.x == 0) s = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) b[blockIdx.x] = s;
}

// A count that is read while others still count; the twin leaves that to the last.
KERNEL(half_way) {
    if (threadIdx.x != 0) return;
    atomicAdd(a + 200, blockIdx.x + 1);
    b[blockIdx.x] = atomicAdd(a + 200, 0);
}
KERNEL(half_way_clean) {
    if (threadIdx.x != 0) return;
    atomicAdd(a + 200, blockIdx.x + 1);
    __threadfence();
    if (atomicAdd(a + 201, 1) == gridDim.x - 1) b[0] = atomicAdd(a + 200, 0);
}

// A ring of four places, overwritten; in the twin the largest stays.
KERNEL(ring) { if (threadIdx.x == 0) ((volatile u32 *)b)[atomicInc(a + 200, 3)] = blockIdx.x; }
KERNEL(ring_clean) { if (threadIdx.x == 0) atomicMax(a + 200 + (blockIdx.x & 3), blockIdx.x); }

// A sweep of relaxation in place, and into another array.
KERNEL(sweep) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    volatile u32 *v = a;
    if (i > 0 && i < n) v[n - 1 - i] = v[n - i] + 1;
}
KERNEL(sweep_clean) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    volatile u32 *v = a;
    if (i > 0 && i < n) b[n - 1 - i] = v[n - i] + 1;
}

// Random numbers from one state for all, and from each one's own.
KERNEL(state) { if (threadIdx.x == 0) b[blockIdx.x] = scramble(atomicAdd(a + 200, 1)); }
KERNEL(state_clean) { if (threadIdx.x == 0) { atomicAdd(a + 200, 1); b[blockIdx.x] = scramble(blockIdx.x); } }

// A maximum by comparing and storing.
KERNEL(maximum) {
    u32 mine = scramble(blockIdx.x * 2 + threadIdx.x / 32) & 0xfff;
    volatile u32 *v = a + 200;
    if (threadIdx.x % 32 == 0) {
        u32 seen = *v;
        for (u32 j = 0; j < 4; j++) __nanosleep(1);
        if (seen < mine) *v = mine;
    }
}
KERNEL(maximum_clean) {
    u32 mine = scramble(blockIdx.x * 2 + threadIdx.x / 32) & 0xfff;
    if (threadIdx.x % 32 == 0) atomicMax(a + 200, mine);
}

// A flag looked at once, and waited for.
KERNEL(flag) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) *(volatile u32 *)(a + 200) = 1;
    else b[blockIdx.x] = *(volatile u32 *)(a + 200);
}
KERNEL(flag_clean) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) *(volatile u32 *)(a + 200) = 1;
    else {
        while (*(volatile u32 *)(a + 200) == 0) {}
        b[blockIdx.x] = 1;
    }
}

// Warps draw tickets in shared memory.
KERNEL(warp_tickets) {
    __shared__ u32 s;
    if (threadIdx.x == 0) s = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) b[threadIdx.x / 32] = atomicAdd(&s, 1);
}
KERNEL(warp_tickets_clean) {
    __shared__ u32 s;
    if (threadIdx.x == 0) s = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) atomicAdd(&s, 1);
    __syncthreads();
    if (threadIdx.x == 0) b[0] = s;
}

// A text in the order of coming, and at places known before.
KERNEL(append) {
    if (threadIdx.x == 0) b[atomicAdd(a + 200, blockIdx.x + 1)] = blockIdx.x;
}
KERNEL(append_clean) {
    if (threadIdx.x == 0) {
        atomicAdd(a + 200, blockIdx.x + 1);
        b[blockIdx.x * (blockIdx.x + 1) / 2] = blockIdx.x;
    }
}

// A running total, and the total.
KERNEL(running) {
    if (threadIdx.x != 0) return;
    lock(a + 201);
    a[200] += blockIdx.x + 1;
    b[blockIdx.x] = a[200];
    unlock(a + 201);
}
KERNEL(running_clean) {
    if (threadIdx.x != 0) return;
    lock(a + 201);
    a[200] += blockIdx.x + 1;
    b[blockIdx.x] = blockIdx.x;
    unlock(a + 201);
}

// Bits from a shift register that all turn, and a parity.
KERNEL(turned) {
    if (threadIdx.x != 0) return;
    for (u32 old = a[200], seen = ~old; seen != old;) {
        seen = old;
        old = atomicCAS(a + 200, seen, (seen << 3 | seen >> 29) ^ (blockIdx.x + 1));
    }
}
KERNEL(turned_clean) { if (threadIdx.x == 0) atomicXor(a + 200, scramble(blockIdx.x + 1)); }
