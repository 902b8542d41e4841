// Dot products of bytes with scales, in four-byte words, as quantised models have them.
extern "C" __global__ void k(float *o, const int *w, const int *x, const float *scale, int words, int rows) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    int sum = 0, low = 0;
    for (int i = lane; i < words; i += 32) {
        sum = __dp4a(w[row * words + i], x[i], sum);
        unsigned v = w[row * words + i] & 0x0F0F0F0F;
        low = __dp4a((int)v, 0x01010101, low);
    }
    for (int d = 16; d; d /= 2) { sum += __shfl_down_sync(~0u, sum, d); low += __shfl_down_sync(~0u, low, d); }
    if (lane == 0) { o[2 * row] = sum * scale[row]; o[2 * row + 1] = (float)(low & 0xFFFF); }
}
