"""Triton on a driver without torch: memory by the driver's own functions."""
import ctypes
import sys

try:
    import triton
    from triton.backends.nvidia.driver import CudaDriver, CudaLauncher, CudaUtils
except ImportError:
    sys.exit(77)

CLEAN = sys.argv[1:] == ["clean"]
cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *args):
    code = getattr(cuda, name)(*args)
    if code:
        raise RuntimeError(f"{name}: {code}")


context = ctypes.c_void_p()
call("cuInit", 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)


class Driver(CudaDriver):
    def __init__(self):
        major, minor = ctypes.c_int(), ctypes.c_int()
        call("cuDeviceComputeCapability", ctypes.byref(major), ctypes.byref(minor), 0)
        self.utils, self.launcher_cls = CudaUtils(), CudaLauncher
        self.get_current_device = lambda: 0
        self.set_current_device = lambda device: None
        self.get_current_stream = lambda device: 0
        self.get_device_capability = lambda device=0: (major.value, minor.value)


triton.runtime.driver.set_active(Driver())


class Array:
    """Numbers on the card, as Triton asks for them."""

    dtype = "fp32"

    def __init__(self, count, fill=True):
        self.bytes, address = 4 * count, ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(self.bytes))
        self.address = address.value
        if fill:
            call("cuMemsetD32_v2", ctypes.c_uint64(self.address), 0, ctypes.c_size_t(count))

    def data_ptr(self):
        return self.address

    def ptr_range(self):
        return self.bytes

    def free(self):
        call("cuMemFree_v2", ctypes.c_uint64(self.address))


def wait():
    cuda.cuCtxSynchronize()
