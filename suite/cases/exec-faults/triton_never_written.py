"""Memory that nobody has written."""
from without_torch import CLEAN, Array, triton, wait
import triton.language as tl


@triton.jit
def scale(x, y, B: tl.constexpr):
    i = tl.arange(0, B)
    value = tl.load(x + i)
    tl.store(y + i, value * 2)  # finds: uninit_global


x, y = Array(64, fill=CLEAN), Array(64)
scale[(1,)](x, y, 64)
wait()
