// A matrix product in tiles of 16 x 16.
extern "C" __global__ void k(float *c, const float *a, const float *b, int m, int n, int depth) {
    __shared__ float x[16][16], y[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < depth; t += 16) {
        int i = t + threadIdx.x, j = t + threadIdx.y;
        x[threadIdx.y][threadIdx.x] = row < m && i < depth ? a[row * depth + i] : 0;
        y[threadIdx.y][threadIdx.x] = col < n && j < depth ? b[j * n + col] : 0;
        __syncthreads();
        for (int l = 0; l < 16; l++) sum += x[threadIdx.y][l] * y[l][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = sum;
}
