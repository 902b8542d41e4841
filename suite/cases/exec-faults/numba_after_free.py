"""A kernel gets an array whose memory was given back."""
import ctypes
import sys

import numpy as np
from numba import cuda

CLEAN = sys.argv[1:] == ["clean"]


@cuda.jit(lineinfo=True)
def fill(x):
    x[cuda.threadIdx.x] = 1  # finds: use_after_free


x = cuda.to_device(np.zeros(32, np.int32))
fill[1, 32](x)
cuda.synchronize()
if not CLEAN:
    # As a library does that takes the array for its own.
    ctypes.CDLL("libcuda.so.1").cuMemFree_v2(ctypes.c_uint64(x.__cuda_array_interface__["data"][0]))
fill[1, 32](x)
try:
    cuda.synchronize()
except cuda.cudadrv.driver.CudaAPIError:
    pass
