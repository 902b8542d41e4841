"""A buffer of tinygrad's that nobody has written."""
from tiny import CLEAN, Tensor, run

KERNEL = """
extern "C" __global__ void kernel(const float *x, float *y) {
  y[threadIdx.x] = x[threadIdx.x] * 3;  // finds: uninit_global
}
"""
x = (Tensor.ones(32, device="CUDA").contiguous() if CLEAN else Tensor.empty(32, device="CUDA")).realize()
y = Tensor.empty(32, device="CUDA").realize()
run(KERNEL, [x, y])
