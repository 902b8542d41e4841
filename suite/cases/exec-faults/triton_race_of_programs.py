"""Programs add to one number without an atomic."""
from without_torch import CLEAN, Array, triton, wait
import triton.language as tl


@triton.jit
def total(x, out, ATOMIC: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    part = tl.sum(tl.load(x + i), 0) + tl.program_id(0)
    if ATOMIC:
        tl.atomic_add(out, part)
    else:
        tl.store(out, tl.load(out) + part)  # finds: race_global


x, out = Array(128), Array(1)
total[(4,)](x, out, CLEAN, 32)
wait()
