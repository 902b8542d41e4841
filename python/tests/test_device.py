"""Arrays, modules and kernels on a device; DLPack's structure over memory of the host."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import warpsmith
from kernels import PARAMS, SAXPY, TRAP, UNGUARDED
from warpsmith import _dlpack
from warpsmith.errors import InputError, KernelFault, PtxError, UnsupportedError


def test_a_kernel_runs_on_arrays_of_a_device():
    device = warpsmith.Device("virtual")
    module = device.load(SAXPY)
    assert module.kernels == ["saxpy"] and device.card is None
    x = np.arange(2000, dtype=np.float32).reshape(40, 50)
    y = device.array(np.ones_like(x))
    a = device.array(x)
    module["saxpy"][8, 256](a, y, 2000, 0.5)
    module["saxpy"].launch(8, 256, [a, y, np.uint32(2000), np.float32(0.5)])
    np.testing.assert_allclose(y.numpy(), x + 1)
    y.copy_from(x)
    np.testing.assert_array_equal(y.numpy(), x)
    assert (y.shape, y.dtype, y.nbytes, y.size, len(y)) == ((40, 50), np.float32, 8000, 2000, 40)
    assert module["saxpy"].params[2] == ("n", "u32", 4)


def test_the_checker_watches_a_device_that_is_opened_for_it():
    device = warpsmith.Device("virtual", check=True)
    x, y = device.array(np.ones(100, np.float32)), device.array(np.ones(100, np.float32))
    device.load(SAXPY)["saxpy"][1, 128](x, y, 100, 2.0)
    assert device.findings() == []
    device.load(UNGUARDED)["saxpy"][1, 128](x, y, 100, 2.0)
    found = device.findings()
    assert {one.kind for one in found} == {"oob_global"}
    assert all("%rd" in UNGUARDED.splitlines()[one.line - 1] for one in found)
    assert device.findings() == []


def test_what_does_not_fit_is_refused():
    device = warpsmith.Device("virtual")
    kernel = device.load(SAXPY)["saxpy"]
    x = device.empty(16)
    for args, said in [
        ([x, x, 16], "expected 4 arguments"),
        ([x, x, 1.5, 2.0], "args[2] (`n`): expected a number of type u32, found 1.5"),
        ([x, x, 16, x], "args[3] (`a`): expected 4 bytes"),
        ([warpsmith.Device("virtual").empty(16), x, 16, 2.0], "args[0]: expected an array of the kernel's device"),
        ([x, np.zeros(3), 16, 2.0], "args[1]: expected an array, a number, None or bytes, found ndarray"),
    ]:
        with pytest.raises(InputError) as caught:
            kernel[1, 16](*args)
        assert said in str(caught.value)
    with pytest.raises(InputError, match="no entry `other`, the module has saxpy"):
        device.load(SAXPY)["other"]
    with pytest.raises(InputError, match="unknown device"):
        warpsmith.Device("gpu")
    with pytest.raises(InputError, match="float32"):
        x.copy_from(np.zeros(15, np.float32))
    with pytest.raises(PtxError):
        device.load("nonsense")
    with pytest.raises(UnsupportedError):
        warpsmith.Device("cuda:0", check=True)
    device.load(PARAMS)["params"].launch(1, 1, [device.empty(3, np.int64), 1, 2, bytes(16)])
    device.load(TRAP)["stops"].launch(1, None)
    with pytest.raises(KernelFault):
        device.synchronize()


def test_memory_of_the_virtual_gpu_is_nobody_elses():
    array = warpsmith.Device("virtual").empty(4)
    assert not hasattr(array, "__cuda_array_interface__")
    with pytest.raises(BufferError, match="numpy"):
        array.__dlpack__()
    assert warpsmith.devices()[-1] == "virtual"


class Host:
    """Memory of the host behind the capsule that arrays of cards give."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return (_dlpack.CPU, 0)

    def __dlpack__(self, **_):
        array = self.array
        return _dlpack.capsule(self, array.ctypes.data, array.shape, array.dtype, self.__dlpack_device__())


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "i8", "u2", "c8", "bool"])
def test_a_capsule_is_what_dlpack_says(dtype):
    known = len(_dlpack._alive)
    array = np.arange(24).reshape(2, 3, 4).astype(dtype)
    taken = np.from_dlpack(Host(array))
    assert taken.shape == array.shape and taken.dtype == array.dtype
    assert taken.ctypes.data == array.ctypes.data
    np.testing.assert_array_equal(taken, array)
    assert len(_dlpack._alive) == known + 1
    del taken
    gc.collect()
    assert len(_dlpack._alive) == known
    # One that nobody takes goes with itself.
    capsule = Host(array).__dlpack__()
    assert len(_dlpack._alive) == known + 1
    del capsule
    assert len(_dlpack._alive) == known
    with pytest.raises(BufferError):
        _dlpack.capsule(None, 0, (1,), np.dtype("S3"), (1, 0))
