"""Devices with arrays, modules and kernels: a card, or the virtual GPU."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Sequence, Union

import numpy as np

from . import _dlpack, _native, ptx as _ptx
from ._kernels import of
from .errors import InputError

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Device", "DeviceArray", "Kernel", "Module", "devices"]


def devices() -> list[str]:
    """The names of the devices of this machine, cards first; the last one is "virtual"."""
    return _native.devices()[0]


class Device:
    """A device, with one stream of work: each launch and copy comes after the one before.

        device = Device("virtual")
        saxpy = device.load(text)["saxpy"]
        x, y = device.array(x), device.array(y)
        saxpy[4, 256](x, y, 1000, 2.0)
        print(y.numpy())

    name
        "auto", "cuda:N", "virtual" or "virtual:SETTINGS"
    check
        whether kernels run under the checker, on the virtual GPU; see `findings`

    Raises DeviceError without such a device, InputError for a name that is none, UnsupportedError for `check` on a card.
    """

    def __init__(self, name: str = "auto", *, check: bool = False) -> None:
        self._native = _native.Device(name, check)
        facts = self._native.facts()
        #: What it calls itself.
        self.name: str = facts[0]
        #: Its number if it is a card, or None.
        self.card: int | None = facts[1]
        #: Its target, such as "sm_90".
        self.target: str = facts[2]
        #: Multiprocessors.
        self.sms: int = facts[3]
        #: Bytes of memory.
        self.memory: int = facts[4]

    def __repr__(self) -> str:
        return f"Device({self.name!r}, target={self.target!r})"

    def array(self, contents: Any) -> DeviceArray:
        """An array on the device with the contents of one of numpy, or of what numpy makes of it; C order."""
        host = np.ascontiguousarray(contents)
        if host.dtype.hasobject or not host.dtype.isnative:
            raise InputError(f"contents: expected numbers in this machine's order of bytes, found {host.dtype}")
        shape = np.shape(contents)
        return DeviceArray(self, self._native.upload(host.tobytes()), shape, host.dtype)

    def empty(self, shape: int | Sequence[int], dtype: Any = np.float32) -> DeviceArray:
        """An array that nobody wrote."""
        sizes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
        if any(size < 0 for size in sizes):
            raise InputError(f"shape: expected sizes from 0, found {sizes}")
        kind = np.dtype(dtype)
        count = 1
        for size in sizes:
            count *= int(size)
        return DeviceArray(self, self._native.alloc(count * kind.itemsize), sizes, kind)

    def load(self, ptx: Any) -> Module:
        """Loads PTX: a text, a path, or a compiled kernel as in `warpsmith.ptx`. Raises PtxError, UnsupportedError."""
        source = of(ptx)
        return Module(self, self._native.load(source.text, source.name))

    def synchronize(self) -> None:
        """Waits until all work is done. Raises KernelFault if a kernel did something wrong."""
        self._native.synchronize()

    def findings(self) -> list[_ptx.Finding]:
        """What was found since the last call, when all work is done; empty without `check`."""
        return _ptx.findings_of(json.loads(self._native.findings()))


class DeviceArray:
    """An array in the memory of a device.

    shape, dtype
        as of numpy; rows lie one after the other
    ptr
        its address on the device
    nbytes
        its size

    On a card it has `__cuda_array_interface__` and DLPack, so that CuPy, Numba and torch use it without a copy. The memory
    of the virtual GPU is nobody else's: `numpy()` copies it.
    """

    def __init__(self, device: Device, native: _native.Array, shape: tuple[int, ...], dtype: Any) -> None:
        self.device = device
        self.shape = tuple(int(size) for size in shape)
        self.dtype = np.dtype(dtype)
        self._native = native

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype}, device={self.device.name!r})"

    @property
    def ptr(self) -> int:
        """Its address on the device."""
        return self._native.address

    @property
    def size(self) -> int:
        """Elements."""
        return self.nbytes // int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes."""
        count = int(self.dtype.itemsize)
        for size in self.shape:
            count *= size
        return count

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without a dimension")
        return self.shape[0]

    def numpy(self) -> npt.NDArray[Any]:
        """A copy as an array of numpy, when all work before is done. Raises KernelFault if that failed."""
        raw = self._native.download()
        copy: npt.NDArray[Any] = np.frombuffer(raw, dtype=self.dtype).reshape(self.shape).copy()
        return copy

    def copy_from(self, contents: Any) -> None:
        """Writes all of it. Raises InputError for another shape or type."""
        host = np.asarray(contents)
        if host.shape != self.shape or host.dtype != self.dtype:
            raise InputError(
                f"contents: expected {self.dtype} {list(self.shape)}, found {host.dtype} {list(host.shape)}"
            )
        self._native.upload(host.tobytes())

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.device.card is None:
            raise AttributeError("the memory of the virtual GPU has no CUDA array interface; `numpy()` copies it")
        self.device.synchronize()
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.ptr, False),
            "version": 3,
            "strides": None,
            "stream": None,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        if self.device.card is None:
            raise BufferError("the memory of the virtual GPU has no DLPack; `numpy()` copies it")
        return (_dlpack.CUDA, self.device.card)

    def __dlpack__(self, *, stream: Any = None, **_: Any) -> Any:
        device = self.__dlpack_device__()
        # All work is done: whatever stream asks needs to wait for nothing.
        self.device.synchronize()
        return _dlpack.capsule(self, self.ptr, self.shape, self.dtype, device)


Argument = Union[DeviceArray, int, float, None, bytes, "np.generic"]


class Module:
    """PTX on a device; `module["name"]` is a kernel, `module.kernels` their names."""

    def __init__(self, device: Device, native: _native.Module) -> None:
        self.device = device
        self._native = native
        self.kernels: list[str] = native.names()

    def __repr__(self) -> str:
        return f"Module({', '.join(self.kernels)})"

    def __getitem__(self, name: str) -> Kernel:
        """Raises InputError for a name that is none."""
        return Kernel(self.device, name, self._native.kernel(name))

    def __iter__(self) -> Any:
        return iter(self.kernels)


class Kernel:
    """A kernel, launched as `kernel[grid, block](*args)` or by `launch`.

    params
        its parameters: name, type of PTX, bytes
    """

    def __init__(self, device: Device, name: str, native: _native.Kernel) -> None:
        self.device = device
        self.name = name
        self.params: list[tuple[str, str, int]] = native.params()
        self._native = native

    def __repr__(self) -> str:
        return f"Kernel({self.name!r}, {len(self.params)} parameters)"

    def __getitem__(self, sizes: tuple[Any, ...]) -> Any:
        if not isinstance(sizes, tuple) or not 2 <= len(sizes) <= 3:
            raise InputError(f"sizes: expected [grid, block] or [grid, block, shared], found {sizes!r}")
        grid, block, *shared = sizes
        return lambda *args: self.launch(grid, block, args, shared=shared[0] if shared else 0)

    def launch(
        self,
        grid: _ptx.Extent,
        block: _ptx.Extent | None,
        args: Sequence[Argument] = (),
        *,
        shared: int = 0,
        cooperative: bool = False,
    ) -> None:
        """Enqueues it, and does not wait.

        grid, block
            CTAs, and threads of a CTA: a number, or up to three; a block of None is the one that the kernel requires
        args
            one for each parameter: arrays of the device, numbers (of the type of the parameter), scalars of numpy, None
            for the null pointer, bytes for a structure
        shared
            bytes of dynamic shared memory
        cooperative
            all CTAs run at the same time

        Raises InputError for arguments and sizes that do not fit. Faults of the kernel are raised by what waits for it.
        """
        size = self._native.block() if block is None else block
        if size is None:
            raise InputError(f"block: expected the threads of a CTA, as `{self.name}` requires none, found None")
        given: list[tuple[str, str, bytes, _native.Array | None, int]] = []
        for at, arg in enumerate(args):
            if isinstance(arg, DeviceArray):
                if arg.nbytes:
                    given.append(("buffer", "", b"", arg._native, 0))
                    continue
                arg = None
            kind, text, _, _, raw = _ptx.scalar(f"args[{at}]", arg)
            given.append((kind, text, raw, None, 0))
        sizes = _ptx.extent("grid", grid), _ptx.extent("block", size)
        self._native.launch(*sizes, shared, cooperative, given)
