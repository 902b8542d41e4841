"""Language models, Whisper, and PTX kernels checked without a card.

    from warpsmith import LLM, Whisper, ptx

`LLM` generates text, chats, and gives logits, embeddings and tokens. `Whisper` turns speech into text, with the names
that users of faster-whisper know. `ptx` checks kernels, and runs them on a virtual GPU under a checker. `Device` has
arrays, modules and kernels on a card, or on the virtual GPU. For pytest there is the fixture `warpsmith_checked`.

A device is named by text: "auto" is the first card, or else the virtual GPU; "cuda:0" a card; "virtual" the virtual GPU,
"virtual:t4" one that stands for a card.

Long work lets go of the GIL, and Ctrl-C interrupts it. All errors are `WarpsmithError`s.
"""

from __future__ import annotations

from . import errors, ptx
from ._native import __version__
from .device import Device, DeviceArray, Kernel, Module, devices
from .errors import WarpsmithError
from .llm import LLM, Completion, Event, Token
from .whisper import Segment, TranscriptionInfo, Whisper, Word

__all__ = [
    "LLM",
    "Completion",
    "Device",
    "DeviceArray",
    "Event",
    "Kernel",
    "Module",
    "Segment",
    "Token",
    "TranscriptionInfo",
    "WarpsmithError",
    "Whisper",
    "Word",
    "__version__",
    "devices",
    "errors",
    "ptx",
]
