"""A guard that lets one thread too many through."""
import sys

import numpy as np
from numba import cuda

CLEAN = sys.argv[1:] == ["clean"]


@cuda.jit(lineinfo=True)
def scale(x, n):
    i = cuda.grid(1)
    if i < n if CLEAN else i <= n:
        x[i] *= 2  # finds: oob_global


x = cuda.to_device(np.ones(100, np.float32))
scale[1, 128](x, 100)
cuda.synchronize()
