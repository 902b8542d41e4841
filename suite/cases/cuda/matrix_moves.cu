// Matrices of 8 x 8 between shared memory and registers, plain and transposed.
extern "C" __global__ void k(unsigned *o, unsigned short *back, const unsigned short *x) {
    __shared__ __align__(16) unsigned short s[256];
    __shared__ __align__(16) unsigned short t[768];
    int lane = threadIdx.x;
    for (int i = lane; i < 256; i += 32) s[i] = x[i];
    __syncthreads();
    unsigned at = (unsigned)__cvta_generic_to_shared(s + lane * 8), v[4], w[4], u[2];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(at));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "r"(at));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(u[0]), "=r"(u[1]) : "r"(at));
    for (int j = 0; j < 4; j++) { o[lane * 10 + j] = v[j]; o[lane * 10 + 4 + j] = w[j]; }
    o[lane * 10 + 8] = u[0]; o[lane * 10 + 9] = u[1];
#if __CUDA_ARCH__ >= 900
    unsigned to = (unsigned)__cvta_generic_to_shared(t + lane * 8);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(to), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0+512], {%1,%2,%3,%4};" ::"r"(to), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0+1024], {%1,%2};" ::"r"(to), "r"(v[2]), "r"(v[3]) : "memory");
    __syncthreads();
    for (int i = lane; i < 640; i += 32) back[i] = t[i];
#else
    for (int i = lane; i < 640; i += 32) back[i] = s[i < 512 ? i % 256 : i - 512 + 128];
#endif
}
