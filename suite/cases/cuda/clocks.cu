// Clocks that do not run backward, and where a thread is.
extern "C" __global__ void k(unsigned *o, unsigned *place) {
    unsigned i = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z), *p = place + 12 * i;
    long long a = clock64();
    unsigned long long t0, t1;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t0));
    unsigned lane, warp, warps, sms, eq, lt, le, gt, ge, sm, smem;
    asm volatile("mov.u32 %0, %%laneid;\n\tmov.u32 %1, %%warpid;\n\tmov.u32 %2, %%nwarpid;\n\tmov.u32 %3, %%nsmid;\n\tmov.u32 %4, %%smid;\n\tmov.u32 %5, %%dynamic_smem_size;" : "=r"(lane), "=r"(warp), "=r"(warps), "=r"(sms), "=r"(sm), "=r"(smem));
    asm volatile("mov.u32 %0, %%lanemask_eq;\n\tmov.u32 %1, %%lanemask_lt;\n\tmov.u32 %2, %%lanemask_le;\n\tmov.u32 %3, %%lanemask_gt;\n\tmov.u32 %4, %%lanemask_ge;" : "=r"(eq), "=r"(lt), "=r"(le), "=r"(gt), "=r"(ge));
    __nanosleep(100);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t1));
    long long b = clock64();
    unsigned c = clock(), e = clock();
    o[i] = (b >= a) + 2 * (t1 >= t0) + 4 * (sm < sms) + 8 * ((int)(e - c) >= 0) + 16 * (warps >= 3);
    p[0] = lane; p[1] = warp; p[2] = smem; p[3] = eq; p[4] = lt; p[5] = le; p[6] = gt; p[7] = ge; p[8] = gridDim.y; p[9] = blockIdx.z; p[10] = threadIdx.z; p[11] = warpSize;
}
