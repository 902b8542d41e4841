// Kernels of the program in main.rs; kernels.ptx is made of them by nvcc -ptx -lineinfo -arch=compute_80.
// A line that is to be found has the fault's name and its kind.
extern "C" __global__ void scale(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;  // past_the_end: finds oob_global // after_free: finds use_after_free
}

extern "C" __global__ void add(const float *x, float *y) {
  y[threadIdx.x] += x[threadIdx.x];  // never_written: finds uninit_global
}

extern "C" __global__ void count(int *total, int clean) {
  if (threadIdx.x != 0) return;
  if (clean)
    atomicAdd(total, blockIdx.x);
  else
    *total += blockIdx.x;  // race_of_blocks: finds race_global
}

extern "C" __global__ void sum(const int *x, int *out, int clean) {
  __shared__ int part[128];
  int t = threadIdx.x;
  part[t] = x[t];
  __syncthreads();
  for (int step = 64; step > 0; step /= 2) {
    if (t < step)
      part[t] += part[t + step];  // missing_barrier: finds race_shared
    if (clean) __syncthreads();
  }
  if (t == 0) *out = part[0];
}

extern "C" __global__ void fill(int *x, int value) {
  x[threadIdx.x] = value;  // streams_unordered: finds race_global // read_early: finds race_global
}
