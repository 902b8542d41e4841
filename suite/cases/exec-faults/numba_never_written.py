"""An array of the card that nobody has written."""
import sys

import numpy as np
from numba import cuda

CLEAN = sys.argv[1:] == ["clean"]


@cuda.jit(lineinfo=True)
def square(x, y):
    t = cuda.threadIdx.x
    y[t] = x[t] * x[t]  # finds: uninit_global


x = cuda.to_device(np.ones(32, np.float32)) if CLEAN else cuda.device_array(32, np.float32)
y = cuda.device_array(32, np.float32)
square[1, 32](x, y)
cuda.synchronize()
