// Parameters of small and vector types.
struct Pair { signed char a; short b; unsigned char c[2]; };
__device__ __noinline__ float4 add4(float4 a, float2 b, double2 d) { return make_float4(a.x + b.x, a.y + b.y, a.z + (float)d.x, a.w + (float)d.y); }
__device__ __noinline__ ushort4 mix(ushort4 a, uchar4 b, char2 c, longlong2 l) { return make_ushort4(a.x + b.x, a.y + b.y, a.z + c.x, a.w + (unsigned short)l.y); }
__device__ __noinline__ signed char small(signed char a, short b, bool c, unsigned short d) { return c ? a + b : a - (int)d; }
extern "C" __global__ void k(float4 *f, ushort4 *u, int *o, signed char c, short h, unsigned char b, float4 v, uchar4 q, ushort4 w, double2 d, float2 g, int4 m, Pair p) {
    int i = threadIdx.x;
    f[i] = add4(make_float4(v.x + i, v.y, v.z, v.w), g, d);
    u[i] = mix(w, q, make_char2(c, i), make_longlong2(0, h + i));
    o[2 * i] = small(c, h, i & 1, w.x) + b + p.a + p.b + p.c[i & 1];
    o[2 * i + 1] = m.x + m.y * i + m.z - m.w;
}
