"""Rows that are a number further apart than they are."""
from without_torch import CLEAN, Array, triton, wait
import triton.language as tl


@triton.jit
def sums(x, out, stride, W: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, W)
    values = tl.load(x + row * stride + i)  # finds: oob_global
    tl.store(out + row, tl.sum(values, 0))


x, out = Array(8 * 32), Array(8)
sums[(8,)](x, out, 32 if CLEAN else 33, 32)
wait()
