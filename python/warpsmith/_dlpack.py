"""Memory as a DLPack capsule (version 0 of the structure, which all consumers take)."""

from __future__ import annotations

import ctypes
from typing import Any

#: Devices as DLPack numbers them.
CPU, CUDA = 1, 2

#: Types as DLPack numbers them, by numpy's letter.
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}

_NAME = b"dltensor"


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]

#: What capsules need, by the address of their structure, until whoever took them is done.
_alive: dict[int, Any] = {}


def _forget(address: int) -> None:
    _alive.pop(address, None)


_delete = _Deleter(_forget)


_api = ctypes.pythonapi
_Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, _Destructor]
_api.PyCapsule_IsValid.restype = ctypes.c_int
_api.PyCapsule_IsValid.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]


def _untaken(capsule: int) -> None:
    # One that was taken has another name, and its taker calls the deleter.
    if _api.PyCapsule_IsValid(capsule, _NAME):
        _alive.pop(_api.PyCapsule_GetPointer(capsule, _NAME), None)


_drop = _Destructor(_untaken)


def capsule(owner: Any, address: int, shape: Any, dtype: Any, device: tuple[int, int]) -> Any:
    """A capsule of memory that `owner` keeps. Raises BufferError for a type that DLPack has not."""
    if dtype.kind not in _CODES:
        raise BufferError(f"dtype: expected integers, floats, complex numbers or booleans, found {dtype}")
    ndim = len(shape)
    sizes = (ctypes.c_int64 * max(ndim, 1))(*shape)
    managed = _Managed()
    managed.tensor.data = address
    managed.tensor.device = _Device(*device)
    managed.tensor.ndim = ndim
    managed.tensor.dtype = _Type(_CODES[dtype.kind], 8 * dtype.itemsize, 1)
    managed.tensor.shape = ctypes.cast(sizes, ctypes.POINTER(ctypes.c_int64))
    managed.tensor.strides = None
    managed.tensor.byte_offset = 0
    managed.deleter = _delete
    place = ctypes.addressof(managed)
    _alive[place] = (managed, sizes, owner)
    return _api.PyCapsule_New(place, _NAME, _drop)
