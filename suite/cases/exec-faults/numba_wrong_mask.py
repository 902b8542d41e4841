"""A shuffle of the whole warp names only half of its lanes."""
import sys

import numpy as np
from numba import cuda

CLEAN = sys.argv[1:] == ["clean"]
MASK = 0xFFFFFFFF if CLEAN else 0xFFFF


@cuda.jit(lineinfo=True)
def swap(x):
    t = cuda.threadIdx.x
    x[t] = cuda.shfl_xor_sync(MASK, t, 1)  # finds: mask


x = cuda.to_device(np.zeros(32, np.int32))
swap[1, 32](x)
cuda.synchronize()
