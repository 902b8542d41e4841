// A step of Conway's game on a torus.
extern "C" __global__ void k(unsigned char *o, const unsigned char *x, int w, int h) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c >= w || r >= h) return;
    int n = 0;
    for (int dr = -1; dr <= 1; dr++)
        for (int dc = -1; dc <= 1; dc++)
            if (dr || dc) n += x[(r + dr + h) % h * w + (c + dc + w) % w];
    o[r * w + c] = n == 3 || (n == 2 && x[r * w + c]);
}
