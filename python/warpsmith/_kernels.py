"""Kernels of other packages as PTX: by what their objects look like, so that none of these packages is needed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Sequence

from . import _native
from .errors import InputError


@dataclass
class Source:
    """PTX, and what is known of how it is launched.

    scratch
        null pointers that the kernel takes after all arguments, at most
    """

    text: str
    name: str
    kernel: str | None = None
    block: list[int] | None = None
    shared: int = 0
    scratch: int = 0

    @cached_property
    def kernels(self) -> list[Any]:
        return _native.kernels(self.text)

    def params(self, kernel: str) -> list[Any]:
        found = [params for name, params, _ in self.kernels if name == kernel]
        return found[0] if found else []


def of(ptx: Any, *, args: Sequence[Any] = (), sm: Any = None, name: str | None = None) -> Source:
    """What `ptx` is as PTX; `args` and `sm` are for kernels that are compiled for them."""
    if isinstance(ptx, Source):
        return ptx
    if isinstance(ptx, tuple) and ptx and isinstance(ptx[0], str):
        # `numba.cuda.compile_ptx` gives the type of the result as well.
        ptx = ptx[0]
    if isinstance(ptx, str) and "\n" not in ptx and ptx.endswith(".ptx"):
        return _file(ptx, name)
    if isinstance(ptx, os.PathLike):
        return _file(os.fspath(ptx), name)
    if isinstance(ptx, str):
        return Source(ptx, name or "kernel.ptx")
    if isinstance(ptx, (bytes, bytearray)):
        return Source(bytes(ptx).decode("utf-8", "replace").rstrip("\0"), name or "kernel.ptx")
    if hasattr(ptx, "asm") and hasattr(ptx, "metadata"):
        return _triton(ptx, name)
    if hasattr(ptx, "py_func"):
        return _numba(ptx, args, sm, name)
    if hasattr(ptx, "code") and getattr(ptx, "code_type", None) == "ptx":
        return of(ptx.code, name=name)
    raise InputError(
        "ptx: expected a text, a path, or a kernel compiled by Triton, Numba or cuda.core, "
        f"found {type(ptx).__module__}.{type(ptx).__name__}"
    )


def _file(path: str, name: str | None) -> Source:
    with open(path, encoding="utf-8", errors="replace") as file:
        return Source(file.read(), name or path)


def _triton(compiled: Any, name: str | None) -> Source:
    """What `triton.compile` gives. The block is made of its warps; it takes pointers to scratch memory after the arguments,
    which are null as long as it needs none."""
    if "ptx" not in compiled.asm:
        raise InputError(f"ptx: expected a kernel with PTX, found one with {', '.join(compiled.asm)}")
    metadata = compiled.metadata
    for scratch in ("global_scratch_size", "profile_scratch_size"):
        if getattr(metadata, scratch, 0):
            raise InputError(f"ptx: expected a kernel without scratch memory, found {scratch} in its metadata")
    if getattr(metadata, "num_ctas", 1) != 1:
        raise InputError(f"ptx: expected num_ctas=1, found {metadata.num_ctas}: there are no clusters here")
    return Source(
        compiled.asm["ptx"],
        name or f"{metadata.name}.ptx",
        kernel=metadata.name,
        block=[32 * metadata.num_warps, 1, 1],
        shared=metadata.shared,
        scratch=2,
    )


def _numba(kernel: Any, args: Sequence[Any], sm: Any, name: str | None) -> Source:
    """A kernel of Numba, compiled for the types of the arguments."""
    from numba import cuda, typeof  # type: ignore

    digits = "".join(char for char in str(sm or 80) if char.isdigit())
    signature = tuple(typeof(arg) for arg in args)
    text, _ = cuda.compile_ptx(
        kernel.py_func, signature, cc=(int(digits[:-1]), int(digits[-1])), lineinfo=True
    )
    return Source(text, name or f"{kernel.py_func.__name__}.ptx")
