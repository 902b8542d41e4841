// A bitonic sort of keys with values in shared memory.
extern "C" __global__ void k(int *keys, int *values) {
    __shared__ int s[256], v[256];
    int i = threadIdx.x;
    s[i] = keys[i]; v[i] = values[i];
    for (int size = 2; size <= 256; size *= 2)
        for (int d = size / 2; d > 0; d /= 2) {
            __syncthreads();
            int j = i ^ d;
            if (j > i && (s[i] > s[j]) == !(i & size)) {
                int t = s[i]; s[i] = s[j]; s[j] = t;
                t = v[i]; v[i] = v[j]; v[j] = t;
            }
        }
    __syncthreads();
    keys[i] = s[i]; values[i] = v[i];
}
