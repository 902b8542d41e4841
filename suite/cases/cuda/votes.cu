// Votes, matches and who is active.
extern "C" __global__ void k(unsigned *o, const int *x) {
    int i = threadIdx.x, v = x[i];
    unsigned *p = o + 12 * i;
    p[0] = __ballot_sync(~0u, v > 3);
    p[1] = __any_sync(~0u, v == 11);
    p[2] = __all_sync(~0u, v >= 0);
    p[3] = __uni_sync(~0u, i < 32);
    p[4] = __match_any_sync(~0u, v);
    int all;
    p[5] = __match_all_sync(~0u, i / 32, &all);
    p[6] = all;
    p[7] = __match_all_sync(~0u, (unsigned long long)v << 33, &all);
    p[8] = __match_any_sync(~0u, (unsigned long long)(v & 3) << 33);
    p[9] = 0;
    if (v & 1) p[9] = __activemask() & __ballot_sync(__activemask(), v > 5);
    else p[9] = __popc(__activemask());
    unsigned leader = 0;
#if __CUDA_ARCH__ >= 900
    asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, 0xFFFFFFFF;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(leader));
    leader = __popc(__ballot_sync(~0u, leader));
#else
    leader = 1;
#endif
    p[10] = leader;
    __syncwarp();
    p[11] = __fns(v * 0x01234567u, i % 32, (i % 5) - 2);
}
