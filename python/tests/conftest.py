"""Models, loaded once for all tests; `cargo xtask fetch` brings them."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from pathlib import Path

import pytest

import warpsmith

pytest_plugins = ["pytester"]

ROOT = Path(os.environ.get("WARPSMITH_ROOT") or Path(__file__).resolve().parents[2])
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "warpsmith" / "models"
SMOLLM2 = Path(
    os.environ.get("WARPSMITH_SMOLLM2") or CACHE / "smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"
)
WHISPER = CACHE / "whisper-base"
TINY = CACHE / "whisper-tiny.en"
SOUNDS = ROOT / "suite" / "reference" / "audio"


@pytest.fixture(scope="session")
def llm():
    with warpsmith.LLM(SMOLLM2, device="virtual", ctx_size=512, sequences=4) as model:
        yield model


@pytest.fixture(scope="session")
def whisper():
    with warpsmith.Whisper(WHISPER, device="virtual") as model:
        yield model


@pytest.fixture(scope="session")
def tiny():
    with warpsmith.Whisper(TINY, device="virtual") as model:
        yield model


@pytest.fixture
def interrupted():
    """Ctrl-C after some seconds, for as long as a block runs."""

    @contextmanager
    def after(seconds: float):
        # A shell that runs this in the background has it ignore Ctrl-C.
        heard = signal.signal(signal.SIGINT, signal.default_int_handler)
        before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            signal.signal(signal.SIGINT, heard)

    return after
