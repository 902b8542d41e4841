"""An array of a thread's own, one element too small."""
import sys

import numpy as np
from numba import cuda, int32

CLEAN = sys.argv[1:] == ["clean"]
STEPS = 8 if CLEAN else 9


@cuda.jit(lineinfo=True)
def last(x, at):
    own = cuda.local.array(8, int32)
    for i in range(x[0] + STEPS):
        own[i] = i  # finds: oob_local
    x[1] = own[at]


x = cuda.to_device(np.zeros(32, np.int32))
last[1, 1](x, 3)
cuda.synchronize()
