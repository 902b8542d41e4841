// Shared arrays of all types, static and dynamic, reversed through a barrier.
extern __shared__ double dynamic[];
template <class T> __device__ void reverse(T *at, T *x, int n) {
    int i = threadIdx.x;
    at[i] = x[i];
    __syncthreads();
    x[i] = at[n - 1 - i];
    __syncthreads();
}
__shared__ unsigned char b[64]; __shared__ short s[64]; __shared__ int w[64]; __shared__ long long l[64]; __shared__ float f[64];
__shared__ uchar2 v2[64]; __shared__ ushort2 h2[64]; __shared__ int2 i2[64]; __shared__ float4 f4[64]; __shared__ int4 i4[64]; __shared__ ulonglong2 l2[64];
extern "C" __global__ void k(unsigned char *pb, short *ps, int *pw, long long *pl, float *pf, double *pd, uchar2 *pv, ushort2 *ph, int2 *pi, float4 *p4, int4 *q4, ulonglong2 *pq) {
    reverse(b, pb, 64); reverse(s, ps, 64); reverse(w, pw, 64); reverse(l, pl, 64); reverse(f, pf, 64); reverse(dynamic, pd, 64);
    reverse(v2, pv, 64); reverse(h2, ph, 64); reverse(i2, pi, 64); reverse(f4, p4, 64); reverse(i4, q4, 64); reverse(l2, pq, 64);
}
