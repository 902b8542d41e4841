// Faults in how threads wait for each other and talk, each kernel followed by its clean twin.
typedef unsigned u32;

// A barrier for those that have work.
extern "C" __global__ void working(u32 *a, u32 *b, u32 n) {
    __shared__ u32 s[64];
    u32 i = threadIdx.x;
    if (i < n) {
        s[i] = a[i];
        __syncthreads();  // fault: barrier_divergence
        b[i] = s[n - 1 - i];
    }
    a[64 + i] = n;
}
extern "C" __global__ void working_clean(u32 *a, u32 *b, u32 n) {
    __shared__ u32 s[64];
    u32 i = threadIdx.x;
    if (i < n) s[i] = a[i];
    __syncthreads();
    if (i < n) b[i] = s[n - 1 - i];
    a[64 + i] = n;
}

// A loop with a barrier, as long as the thread has work.
extern "C" __global__ void rounds(u32 *a, u32 *b, u32 n) {
    __shared__ u32 s[32];
    u32 i = threadIdx.x, sum = 0;
    for (u32 j = i; j < n; j += 32) {
        s[i] = a[j];
        __syncthreads();  // fault: barrier_divergence
        sum += s[i];
    }
    b[i] = sum;
}
extern "C" __global__ void rounds_clean(u32 *a, u32 *b, u32 n) {
    __shared__ u32 s[32];
    u32 i = threadIdx.x, sum = 0;
    for (u32 j = i; j < (n + 31) / 32 * 32; j += 32) {
        if (j < n) s[i] = a[j];
        __syncthreads();
        if (j < n) sum += s[i];
    }
    b[i] = sum;
}

// Two arms of a branch, a barrier in each.
extern "C" __global__ void arms(u32 *a, u32 *b, u32 n) {
    u32 i = threadIdx.x;
    if (a[i] % n == 0) {
        asm volatile("bar.sync 0;" ::: "memory");  // fault: barrier_divergence
        b[i] = 1;
    } else {
        asm volatile("bar.sync 0;" ::: "memory");  // other: barrier_divergence
        b[i] = 2;
    }
}
extern "C" __global__ void arms_clean(u32 *a, u32 *b, u32 n) {
    u32 i = threadIdx.x;
    if (a[i] % n == 0) {
        asm volatile("barrier.sync 0;" ::: "memory");
        b[i] = 1;
    } else {
        asm volatile("barrier.sync 0;" ::: "memory");
        b[i] = 2;
    }
}

// A named barrier for the first n threads.
extern "C" __global__ void some(u32 *a, u32 *b, u32 n) {
    if (threadIdx.x < 64)
        asm volatile("bar.sync 1, %0;" :: "r"(n) : "memory");  // fault: barrier_count
    b[threadIdx.x] = a[threadIdx.x];
}
extern "C" __global__ void some_clean(u32 *a, u32 *b, u32 n) {
    if (threadIdx.x < 64)
        asm volatile("bar.sync 1, %0;" :: "r"((n + 31) / 32 * 32) : "memory");
    b[threadIdx.x] = a[threadIdx.x];
}

// One warp produces, one consumes: a tile is full at barrier 1 and empty at barrier 2.
extern "C" __global__ void producer(u32 *a, u32 *b, u32 n) {
    __shared__ u32 tile[32];
    u32 lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        for (u32 r = 0; r < n; r++) {
            tile[lane] = a[lane] + r;                                  // fault: race_shared
            if (r > 0) asm volatile("bar.sync 2, 64;" ::: "memory");
            asm volatile("bar.arrive 1, 64;" ::: "memory");
        }
    } else {
        u32 sum = 0;
        for (u32 r = 0; r < n; r++) {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            sum += tile[31 - lane];                                    // fault: race_shared
            if (r + 1 < n) asm volatile("bar.arrive 2, 64;" ::: "memory");
        }
        b[lane] = sum;
    }
}
extern "C" __global__ void producer_clean(u32 *a, u32 *b, u32 n) {
    __shared__ u32 tile[32];
    u32 lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        for (u32 r = 0; r < n; r++) {
            if (r > 0) asm volatile("bar.sync 2, 64;" ::: "memory");
            tile[lane] = a[lane] + r;
            asm volatile("bar.arrive 1, 64;" ::: "memory");
        }
    } else {
        u32 sum = 0;
        for (u32 r = 0; r < n; r++) {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            sum += tile[31 - lane];
            if (r + 1 < n) asm volatile("bar.arrive 2, 64;" ::: "memory");
        }
        b[lane] = sum;
    }
}

// The consumer waits once more than the producer comes, where n is odd.
extern "C" __global__ void once_more(u32 *a, u32 *b, u32 n) {
    u32 rounds = threadIdx.x < 32 ? n / 2 : (n + 1) / 2;
    for (u32 r = 0; r < rounds; r++) {
        if (threadIdx.x < 32) asm volatile("bar.sync 3, 64;" ::: "memory");
        else asm volatile("bar.sync 3, 64;" ::: "memory");  // fault: barrier_count
    }
    b[threadIdx.x] = a[threadIdx.x];
}
extern "C" __global__ void once_more_clean(u32 *a, u32 *b, u32 n) {
    u32 rounds = (n + 1) / 2;
    for (u32 r = 0; r < rounds; r++) {
        if (threadIdx.x < 32) asm volatile("bar.sync 3, 64;" ::: "memory");
        else asm volatile("bar.sync 3, 64;" ::: "memory");
    }
    b[threadIdx.x] = a[threadIdx.x];
}

// Two warps wait at two barriers for each other.
extern "C" __global__ void crossed(u32 *a, u32 *b, u32 n) {
    if (threadIdx.x < 32) {
        asm volatile("bar.sync 4, 64;" ::: "memory");  // fault: deadlock
        asm volatile("bar.sync 5, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 5, 64;" ::: "memory");  // fault: deadlock
        asm volatile("bar.sync 4, 64;" ::: "memory");
    }
    b[threadIdx.x] = a[threadIdx.x];
}
extern "C" __global__ void crossed_clean(u32 *a, u32 *b, u32 n) {
    if (threadIdx.x < 32) {
        asm volatile("bar.sync 4, 64;" ::: "memory");
        asm volatile("bar.sync 5, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 4, 64;" ::: "memory");
        asm volatile("bar.sync 5, 64;" ::: "memory");
    }
    b[threadIdx.x] = a[threadIdx.x];
}

// A sum over the lanes that are here, which reads lanes that are not.
extern "C" __global__ void partial(u32 *a, u32 *b, u32 n) {
    u32 i = threadIdx.x;
    if (i < n) {
        u32 v = a[i], mates = __activemask();
        v += __shfl_xor_sync(mates, v, 1);  // other: shfl_inactive
        b[i] = v;  // fault: shfl_inactive
    }
}
extern "C" __global__ void partial_clean(u32 *a, u32 *b, u32 n) {
    u32 i = threadIdx.x;
    u32 mates = __ballot_sync(~0u, i < n);
    if (i < n) {
        u32 v = a[i], other = __shfl_sync(mates, v, (i ^ 1) % 32 < __popc(mates) ? i ^ 1 : i);
        b[i] = v + other;
    }
}

// The last lane's value to all that are here.
extern "C" __global__ void last_lane(u32 *a, u32 *b, u32 n) {
    u32 i = threadIdx.x, mates = __ballot_sync(~0u, i < n);
    if (i < n) b[i] = __shfl_sync(mates, a[i], 31);  // fault: shfl_inactive
}
extern "C" __global__ void last_lane_clean(u32 *a, u32 *b, u32 n) {
    u32 i = threadIdx.x, mates = __ballot_sync(~0u, i < n);
    if (i < n) b[i] = __shfl_sync(mates, a[i], 31 - __clz(mates));
}

// A vote of the first n lanes, to which all come.
extern "C" __global__ void first_lanes(u32 *a, u32 *b, u32 n) {
    u32 members = n >= 32 ? ~0u : (1u << n) - 1;
    b[threadIdx.x] = __ballot_sync(members, a[threadIdx.x] & 1);  // fault: mask
}
extern "C" __global__ void first_lanes_clean(u32 *a, u32 *b, u32 n) {
    u32 members = n >= 32 ? ~0u : (1u << n) - 1;
    if (threadIdx.x < n) b[threadIdx.x] = __ballot_sync(members, a[threadIdx.x] & 1);
}

// Half a warp is named at a barrier to which the whole comes.
extern "C" __global__ void half_named(u32 *a, u32 *b, u32 n) {
    __shared__ u32 s[32];
    s[threadIdx.x] = a[threadIdx.x];
    asm volatile("bar.warp.sync 0xffff;" ::: "memory");  // fault: mask
    b[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void half_named_clean(u32 *a, u32 *b, u32 n) {
    __shared__ u32 s[32];
    s[threadIdx.x] = a[threadIdx.x];
    if (threadIdx.x < 16) asm volatile("bar.warp.sync 0xffff;" ::: "memory");
    b[threadIdx.x] = s[threadIdx.x];
}

__device__ __forceinline__ void copy(u32 *to, const u32 *from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"((u32)__cvta_generic_to_shared(to)), "l"(__cvta_generic_to_global(from)) : "memory");  // other: async_early
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ __forceinline__ void wait() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }

// A pipeline of two stages; behind the last tile nothing is under way, and still one group is left.
extern "C" __global__ void pipeline(u32 *a, u32 *b, u32 n) {
    __shared__ u32 tile[2][32];
    u32 i = threadIdx.x, sum = 0;
    copy(&tile[0][i], a + i);
    commit();
    for (u32 t = 0; t < n; t++) {
        if (t + 1 < n) {
            copy(&tile[(t + 1) & 1][i], a + 32 * (t + 1) + i);
            commit();
        }
        wait<1>();
        __syncthreads();
        sum += tile[t & 1][31 - i];  // fault: async_early
        __syncthreads();
    }
    b[i] = sum;
}
extern "C" __global__ void pipeline_clean(u32 *a, u32 *b, u32 n) {
    __shared__ u32 tile[2][32];
    u32 i = threadIdx.x, sum = 0;
    copy(&tile[0][i], a + i);
    commit();
    for (u32 t = 0; t < n; t++) {
        if (t + 1 < n)
            copy(&tile[(t + 1) & 1][i], a + 32 * (t + 1) + i);
        commit();
        wait<1>();
        __syncthreads();
        sum += tile[t & 1][31 - i];
        __syncthreads();
    }
    b[i] = sum;
}

// The copies of the rest are committed behind the wait.
extern "C" __global__ void rest(u32 *a, u32 *b, u32 n) {
    __shared__ u32 tile[64];
    u32 i = threadIdx.x;
    copy(tile + i, a + i);
    commit();
    wait<0>();
    if (i < n % 32) copy(tile + 32 + i, a + 32 + i);
    commit();
    __syncthreads();
    u32 v = tile[i];
    if (i < n % 32) v += tile[32 + i];  // fault: async_early
    b[i] = v;
}
extern "C" __global__ void rest_clean(u32 *a, u32 *b, u32 n) {
    __shared__ u32 tile[64];
    u32 i = threadIdx.x;
    copy(tile + i, a + i);
    if (i < n % 32) copy(tile + 32 + i, a + 32 + i);
    commit();
    wait<0>();
    __syncthreads();
    u32 v = tile[i];
    if (i < n % 32) v += tile[32 + i];
    b[i] = v;
}

// A value on one path only.
extern "C" __global__ void one_path(u32 *a, u32 *b, u32 n) {
    u32 v;
    asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, %2; @p add.u32 %0, %1, 7; }" : "=r"(v) : "r"(threadIdx.x), "r"(n));
    b[threadIdx.x] = v * 3;  // fault: uninit_register
}
extern "C" __global__ void one_path_clean(u32 *a, u32 *b, u32 n) {
    u32 v = 0;
    asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, %2; @p add.u32 %0, %1, 7; }" : "+r"(v) : "r"(threadIdx.x), "r"(n));
    b[threadIdx.x] = v * 3;
}
