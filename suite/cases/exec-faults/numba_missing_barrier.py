"""Threads read what others write to a tile, without waiting."""
import sys

import numpy as np
from numba import cuda, int32

CLEAN = sys.argv[1:] == ["clean"]


@cuda.jit(lineinfo=True)
def mirror(out):
    tile = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    tile[t] = t
    if CLEAN:
        cuda.syncthreads()
    out[t] = tile[127 - t]  # finds: race_shared


out = cuda.to_device(np.zeros(128, np.int32))
mirror[1, 128](out)
cuda.synchronize()
