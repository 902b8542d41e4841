// Products of 16 x 16 x 16 with fragments of unknown layout, from device and shared memory.
#include <mma.h>
using namespace nvcuda::wmma;
extern "C" __global__ void k(float *f, __half *h, const __half *a, const __half *b, const float *c) {
    __shared__ __half s[256], t[256];
    for (int i = threadIdx.x; i < 256; i += 32) { s[i] = a[i]; t[i] = b[i]; }
    __syncthreads();
    fragment<matrix_a, 16, 16, 16, __half, row_major> A;
    fragment<matrix_b, 16, 16, 16, __half, col_major> B;
    fragment<accumulator, 16, 16, 16, float> C;
    load_matrix_sync(A, a, 16); load_matrix_sync(B, b, 16); load_matrix_sync(C, c, 16, mem_row_major);
    mma_sync(C, A, B, C);
    for (int i = 0; i < C.num_elements; i++) C.x[i] *= 2.0f;
    store_matrix_sync(f, C, 16, mem_row_major);
    fragment<matrix_a, 16, 16, 16, __half, col_major> X;
    fragment<matrix_b, 16, 16, 16, __half, row_major> Y;
    fragment<accumulator, 16, 16, 16, __half> Z;
    load_matrix_sync(X, s, 16); load_matrix_sync(Y, t, 16); fill_fragment(Z, __float2half(1.0f));
    mma_sync(Z, X, Y, Z);
    store_matrix_sync(h, Z, 16, mem_col_major);
}
