// Structures by value, in and out of functions; a structure as kernel parameter.
struct Big { int a; float b; double c[3]; short d; };
struct Small { unsigned char x, y; };
__device__ __noinline__ Big change(Big s, int k) { s.a += k; s.c[(unsigned)k % 3] += 1.5; s.d -= (short)k; return s; }
__device__ __noinline__ Small swap(Small s) { return Small{s.y, s.x}; }
struct Params { int n; float f; long long big; };
extern "C" __global__ void k(Big *s, Small *t, Params p) {
    int i = threadIdx.x;
    if (i >= p.n) return;
    s[i] = change(s[i], i);
    s[i].b *= p.f;
    s[i].c[1] += (double)p.big;
    t[i] = swap(t[i]);
}
