"""What can go wrong, as exceptions. All of them are a `WarpsmithError`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Sequence

if TYPE_CHECKING:
    from .ptx import Finding

__all__ = [
    "WarpsmithError",
    "InputError",
    "ContextFullError",
    "ModelError",
    "AudioError",
    "DeviceError",
    "OutOfMemoryError",
    "PtxError",
    "KernelFault",
    "FindingsError",
    "UnsupportedError",
    "ClosedError",
]


class WarpsmithError(Exception):
    """Any error of this package."""


class InputError(WarpsmithError, ValueError):
    """An argument cannot be used: the text says which, what was expected and what was found."""


class ContextFullError(InputError):
    """More tokens than the context holds, or than there are pages for."""


class ModelError(WarpsmithError):
    """A model's file cannot be read or used, or its logits are not finite."""


class AudioError(WarpsmithError):
    """A sound cannot be read."""


class DeviceError(WarpsmithError):
    """There is no such device, or it failed."""


class OutOfMemoryError(DeviceError, MemoryError):
    """The device's memory is exhausted."""


class UnsupportedError(WarpsmithError, NotImplementedError):
    """Something that is not done here, by name."""


class ClosedError(WarpsmithError):
    """The model was closed, or is another process's."""


class PtxError(WarpsmithError):
    """PTX does not parse, is refused by the verifier, or is for another device."""


class KernelFault(WarpsmithError):
    """A kernel ended in a fault, such as a `trap`, or was stopped."""


class FindingsError(WarpsmithError, AssertionError):
    """The checker found something. The text is what `warpsmith run --check` prints.

    findings
        all that was found, each a `warpsmith.ptx.Finding`
    """

    def __init__(self, text: str, findings: Sequence[Finding] = ()) -> None:
        super().__init__(text)
        self.findings = list(findings)


def own_process(number: int) -> None:
    """Raises ClosedError in a process that was forked from the one with this number: the threads of a model are not in it."""
    if os.getpid() != number:
        raise ClosedError(
            f"the model is of process {number}, and this is {os.getpid()}: load it here "
            '(multiprocessing with the method "spawn" does)'
        )
