// How long points stay bounded: loops of different lengths side by side.
extern "C" __global__ void k(int *o, int w, int h, int limit) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    double cr = -2.0 + x * 0.125, ci = -1.0 + y * 0.125, zr = 0, zi = 0;
    int n = 0;
    while (n < limit && zr * zr + zi * zi <= 4.0) { double t = __dadd_rn(__dsub_rn(__dmul_rn(zr, zr), __dmul_rn(zi, zi)), cr); zi = __dadd_rn(__dmul_rn(2.0 * zr, zi), ci); zr = t; n++; }
    o[y * w + x] = n;
}
