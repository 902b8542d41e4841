// A product of 64 by 64 by 64 by a warp group: tiles with a swizzle of 128 bytes, four steps of 16.
static __device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
static __device__ unsigned long long descriptor(unsigned start) {
    return (unsigned long long)(start >> 4) | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}
extern "C" __global__ void __launch_bounds__(128) k(float *d, const unsigned *a, const unsigned *b) {
    __shared__ __align__(1024) unsigned rows[64 * 32], columns[64 * 32];
    int t = threadIdx.x;
    // 64 halves are a row of 128 bytes; its units of 16 go where the row's number says.
    for (int i = t; i < 64 * 32; i += 128) {
        int row = i / 32, to = i ^ (row % 8) << 2;
        rows[to] = a[i];
        columns[to] = b[i];
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    float s[32];
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int k = 0; k < 4; k++) {
        unsigned long long left = descriptor(at(rows) + 32 * k), right = descriptor(at(columns) + 32 * k);
        asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %34, 0;\n\t"
                     "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, "
                     "%17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 0;\n\t}"
                     : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]), "+f"(s[4]), "+f"(s[5]), "+f"(s[6]), "+f"(s[7]), "+f"(s[8]), "+f"(s[9]), "+f"(s[10]),
                       "+f"(s[11]), "+f"(s[12]), "+f"(s[13]), "+f"(s[14]), "+f"(s[15]), "+f"(s[16]), "+f"(s[17]), "+f"(s[18]), "+f"(s[19]), "+f"(s[20]),
                       "+f"(s[21]), "+f"(s[22]), "+f"(s[23]), "+f"(s[24]), "+f"(s[25]), "+f"(s[26]), "+f"(s[27]), "+f"(s[28]), "+f"(s[29]), "+f"(s[30]),
                       "+f"(s[31])
                     : "l"(left), "l"(right), "r"(k));
    }
    asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");
    int row = t / 32 * 16 + t % 32 / 4, column = t % 4 * 2;
    for (int i = 0; i < 32; i++) d[(row + i / 2 % 2 * 8) * 64 + column + i / 4 * 8 + i % 2] = s[i];
}
