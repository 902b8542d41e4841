// Faults around cooperative groups and CUDA's C++ library, each kernel followed by its clean twin.
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
namespace cg = cooperative_groups;
typedef unsigned u32;

// Two phases of a grid, the second of which reads what other CTAs wrote in the first.
extern "C" __global__ void phases(u32 *a, u32 *b, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = a[i] + 1;            // other: race_global
    cg::this_thread_block().sync();
    if (i < n) a[i] = b[n - 1 - i];        // fault: race_global
}
extern "C" __global__ void phases_clean(u32 *a, u32 *b, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = a[i] + 1;
    cg::this_grid().sync();
    if (i < n) a[i] = b[n - 1 - i];
}

// As many phases as n says, one barrier of the grid between two.
extern "C" __global__ void rounds(u32 *a, u32 *b, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    b[i] = a[i];                           // other: race_global
    cg::this_grid().sync();
    for (u32 k = 0; k < n; k++) {
        u32 v = b[(i + k + 1) % all];      // fault: race_global
        if (k == 0) cg::this_grid().sync();
        b[i] = v + 1;                      // fault: race_global
        if (k + 1 < n) cg::this_thread_block().sync();
    }
}
extern "C" __global__ void rounds_clean(u32 *a, u32 *b, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    b[i] = a[i];
    cg::this_grid().sync();
    for (u32 k = 0; k < n; k++) {
        u32 v = b[(i + k + 1) % all];
        cg::this_grid().sync();
        b[i] = v + 1;
        cg::this_grid().sync();
    }
}

// What a thread copied itself is there after its wait, what others copied only after a barrier.
extern "C" __global__ void copied(u32 *a, u32 *b, u32 n) {
    __shared__ u32 tile[64];
    auto pipe = cuda::make_pipeline();
    u32 t = threadIdx.x;
    pipe.producer_acquire();
    cuda::memcpy_async(&tile[t], a + t, sizeof(u32), pipe);
    pipe.producer_commit();
    cuda::pipeline_consumer_wait_prior<0>(pipe);
    b[t] = tile[63 - t];                   // fault: race_shared
    pipe.consumer_release();
}
extern "C" __global__ void copied_clean(u32 *a, u32 *b, u32 n) {
    __shared__ u32 tile[64];
    auto pipe = cuda::make_pipeline();
    u32 t = threadIdx.x;
    pipe.producer_acquire();
    cuda::memcpy_async(&tile[t], a + t, sizeof(u32), pipe);
    pipe.producer_commit();
    cuda::pipeline_consumer_wait_prior<0>(pipe);
    __syncthreads();
    b[t] = tile[63 - t];
    pipe.consumer_release();
}

// A flag that orders what was written before it, and one that does not.
template <cuda::memory_order order> __device__ __forceinline__ void send(u32 *a, u32 *b) {
    cuda::atomic_ref<u32, cuda::thread_scope_device> flag(a[100]);
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        b[1] = 41;                         // other: race_global
        flag.store(1, order);
    } else {
        while (flag.load(cuda::memory_order_acquire) == 0) {}
        b[1 + blockIdx.x] = b[1] + 1;      // fault: race_global
    }
}
extern "C" __global__ void relaxed(u32 *a, u32 *b, u32 n) {
    send<cuda::memory_order_relaxed>(a, b);
}
extern "C" __global__ void relaxed_clean(u32 *a, u32 *b, u32 n) {
    send<cuda::memory_order_release>(a, b);
}

// An arrival without the wait for the others.
extern "C" __global__ void arrives(u32 *a, u32 *b, u32 n) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ u32 tile[64];
    u32 t = threadIdx.x;
    if (t == 0) init(&bar, blockDim.x);
    __syncthreads();
    tile[t] = a[t];                        // other: race_shared
    auto token = bar.arrive();
    b[t] = tile[63 - t];                   // fault: race_shared
    bar.wait(static_cast<decltype(token) &&>(token));
}
extern "C" __global__ void arrives_clean(u32 *a, u32 *b, u32 n) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ u32 tile[64];
    u32 t = threadIdx.x;
    if (t == 0) init(&bar, blockDim.x);
    __syncthreads();
    tile[t] = a[t];
    auto token = bar.arrive();
    bar.wait(static_cast<decltype(token) &&>(token));
    b[t] = tile[63 - t];
}

// One addition for all lanes that have something: what the leader got is read from another lane.
extern "C" __global__ void leader(u32 *a, u32 *b, u32 n) {
    u32 t = threadIdx.x;
    if (t < n) {
        auto group = cg::coalesced_threads();
        u32 base;
        if (group.thread_rank() == 0) base = atomicAdd(a + 60, group.size());
        base = group.shfl(base, n - 1);
        b[base * 2 + group.thread_rank()] = t;   // fault: uninit_register
    }
}
extern "C" __global__ void leader_clean(u32 *a, u32 *b, u32 n) {
    u32 t = threadIdx.x;
    if (t < n) {
        auto group = cg::coalesced_threads();
        u32 base;
        if (group.thread_rank() == 0) base = atomicAdd(a + 60, group.size());
        base = group.shfl(base, 0);
        b[base * 2 + group.thread_rank()] = t;
    }
}
