"""A filter that reads in front of the first element."""
from without_torch import CLEAN, Array, triton, wait
import triton.language as tl


@triton.jit
def smooth(x, y, n, MASKED: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    left = tl.load(x + i - 1, (i > 0) | (not MASKED), other=0.0)  # finds: oob_global
    here = tl.load(x + i)
    tl.store(y + i, (left + here) / 2)


x, y = Array(64), Array(64)
smooth[(1,)](x, y, 64, CLEAN, 64)
wait()
