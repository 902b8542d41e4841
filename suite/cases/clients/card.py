"""Triton without torch: arrays of numpy on the card, floats of 8 bits and bfloat16 too."""
import ctypes
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../exec-faults"))
from without_torch import Array, call, triton  # noqa: E402

TARGET = int("".join(map(str, triton.runtime.driver.active.get_device_capability())))

KINDS = {"float32": "fp32", "float16": "fp16", "float64": "fp64", "int32": "i32", "int64": "i64", "int8": "i8",
         "uint8": "u8", "uint32": "u32", "int16": "i16"}


class Kind(str):
    """The name of a type, which has a size where tensor descriptors ask for it."""

    itemsize = 0


class Numbers(Array):
    """An array of numpy and its copy on the card. `kind` names what the bits of integers are."""

    def __init__(self, values, kind=None):
        self.host = np.ascontiguousarray(values)
        super().__init__(max(1, -(-self.host.nbytes // 4)), fill=False)
        self.shape = self.host.shape
        self.strides = tuple(stride // self.host.itemsize for stride in self.host.strides)
        self.dtype = Kind(kind or KINDS[str(self.host.dtype)])
        self.dtype.itemsize = self.host.itemsize
        call("cuMemcpyHtoD_v2", ctypes.c_uint64(self.address), self.pointer(), ctypes.c_size_t(self.host.nbytes))

    def pointer(self):
        return self.host.ctypes.data_as(ctypes.c_void_p)

    def stride(self, axis=None):
        return self.strides if axis is None else self.strides[axis]

    def element_size(self):
        return self.host.itemsize

    def get(self):
        """What the card has."""
        call("cuMemcpyDtoH_v2", self.pointer(), ctypes.c_uint64(self.address), ctypes.c_size_t(self.host.nbytes))
        return self.host

    def __del__(self):
        self.free()


def zeros(*shape, dtype=np.float32):
    return Numbers(np.zeros(shape, dtype))


def bfloat(values):
    """bfloat16, rounded to even: the bits, and the values."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    bits = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return bits, (bits.astype(np.uint32) << 16).view(np.float32)


def eighths(random, shape, kind):
    """Floats of 8 bits of up to 4: the bits, and the values."""
    fraction, bias, top = (3, 7, 0x48) if kind == "fp8e4nv" else (2, 15, 0x44)
    bits = random.integers(0, top, shape).astype(np.uint8)
    low, high = bits & ((1 << fraction) - 1), bits >> fraction
    values = np.where(high > 0, (1 + low / 2.0**fraction) * 2.0 ** (high.astype(int) - bias), low / 2.0**fraction * 2.0 ** (1 - bias))
    signs = random.integers(0, 2, shape)
    return bits | (signs << 7).astype(np.uint8), np.where(signs, -values, values).astype(np.float32)


def near(got, want, terms=1, eps=2.0**-23):
    """Within the rounding of so many additions of the largest value."""
    want = np.asarray(want, np.float64)
    off = np.abs(np.asarray(got, np.float64) - want)
    allowed = eps * (4 + terms) * np.maximum(np.abs(want), np.abs(want).max() if want.size else 0)
    assert np.all(off <= allowed), f"off by {off.max()} of {allowed.max()} at {np.unravel_index(off.argmax(), off.shape)}"
