// Vector loads and stores of every width.
extern "C" __global__ void k(float4 *a, int4 *b, double2 *c, uchar4 *d, ushort4 *e, short2 *f, float2 *g, ulonglong2 *h, uint2 *m, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 x = a[i]; x.x += x.w; x.y -= x.z; a[i] = x;
    int4 y = b[i]; y.w = y.x ^ y.y; y.z += 3; b[i] = y;
    double2 z = c[i]; z.x = z.y * 2; c[i] = z;
    uchar4 u = d[i]; u.x += u.y; u.w = u.z; d[i] = u;
    ushort4 v = e[i]; v.x ^= v.w; v.y += 7; e[i] = v;
    short2 w = f[i]; w.x = -w.y; f[i] = w;
    float2 p = g[i]; p.y = p.x + 1; g[i] = p;
    ulonglong2 q = h[i]; q.y += q.x; h[i] = q;
    uint2 r = m[i]; r.x += r.y; m[i] = r;
}
