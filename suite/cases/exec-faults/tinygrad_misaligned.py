"""Four numbers at once, from an address that is none of four numbers."""
from tiny import Tensor, run

KERNEL = """
extern "C" __global__ void kernel(float *x) {
  float4 four = *(float4 *)(x + (CLEAN ? 4 : 2));  // finds: misaligned
  x[threadIdx.x] = four.x + four.w;
}
"""
x = Tensor.ones(64, device="CUDA").contiguous().realize()
run(KERNEL, [x], block=1)
