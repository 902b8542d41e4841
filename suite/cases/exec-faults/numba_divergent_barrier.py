"""Half of a warp goes around a barrier."""
import sys

import numpy as np
from numba import cuda

CLEAN = sys.argv[1:] == ["clean"]


@cuda.jit(lineinfo=True)
def halves(x):
    t = cuda.threadIdx.x
    if CLEAN or t < 16:
        x[t] = t
        cuda.syncthreads()  # finds: barrier_divergence deadlock
    x[t] += 1


x = cuda.to_device(np.zeros(32, np.int32))
halves[1, 32](x)
try:
    cuda.synchronize()
except cuda.cudadrv.driver.CudaAPIError:
    pass
