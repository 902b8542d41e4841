"""The last program stores past the end, as it has no mask."""
from without_torch import CLEAN, Array, triton, wait
import triton.language as tl


@triton.jit
def ramp(x, n, MASKED: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    mask = i < n if MASKED else i >= 0
    tl.store(x + i, i.to(tl.float32), mask)  # finds: oob_global


x = Array(100)
ramp[(2,)](x, 100, CLEAN, 64)
wait()
