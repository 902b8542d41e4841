"""A tile is read before all of it is there."""
from tiny import Tensor, run

KERNEL = """
extern "C" __global__ void kernel(float *x) {
  __shared__ float tile[256];
  int t = threadIdx.x;
  tile[t] = x[t];
#if CLEAN
  __syncthreads();
#endif
  x[t] = tile[255 - t] * 2;  // finds: race_shared uninit_shared
}
"""
x = Tensor.ones(256, device="CUDA").contiguous().realize()
run(KERNEL, [x], block=256)
