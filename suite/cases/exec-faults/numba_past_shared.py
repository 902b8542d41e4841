"""A tile that is smaller than the block."""
import sys

import numpy as np
from numba import cuda, int32

CLEAN = sys.argv[1:] == ["clean"]
SIZE = 64 if CLEAN else 60


@cuda.jit(lineinfo=True)
def turn(out):
    tile = cuda.shared.array(SIZE, int32)
    t = cuda.threadIdx.x
    tile[t] = t  # finds: oob_shared
    cuda.syncthreads()
    out[t] = t


out = cuda.to_device(np.zeros(64, np.int32))
turn[1, 64](out)
cuda.synchronize()
