"""Blocks add to one number without an atomic."""
from tiny import Tensor, run

KERNEL = """
extern "C" __global__ void kernel(float *total) {
#if CLEAN
  atomicAdd(total, threadIdx.x);
#else
  *total += threadIdx.x + blockIdx.x;  // finds: race_global
#endif
}
"""
total = Tensor.zeros(1, device="CUDA").contiguous().realize()
run(KERNEL, [total], grid=4)
