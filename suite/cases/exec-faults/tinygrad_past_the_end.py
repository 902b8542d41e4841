"""A guard that lets one thread too many through, in a kernel among tinygrad's buffers."""
from tiny import Tensor, run

KERNEL = """
extern "C" __global__ void kernel(float *x) {
  int i = threadIdx.x;
  if (CLEAN ? i < 100 : i <= 100)
    x[i] = x[i] + 1;  // finds: oob_global
}
"""
x = Tensor.ones(100, device="CUDA").contiguous().realize()
run(KERNEL, [x], block=128)
