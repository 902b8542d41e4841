// Rows of exponentials that sum to one, a warp for each row.
extern "C" __global__ void k(float *o, const float *x, int rows, int columns) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    x += row * columns; o += row * columns;
    float top = __int_as_float(0xFF800000), sum = 0;
    for (int c = lane; c < columns; c += 32) top = fmaxf(top, x[c]);
    for (int d = 16; d; d /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
    for (int c = lane; c < columns; c += 32) sum += expf(x[c] - top);
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    for (int c = lane; c < columns; c += 32) o[c] = expf(x[c] - top) / sum;
}
