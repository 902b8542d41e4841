"""The native half: what `llm.py`, `whisper.py`, `ptx.py` and `device.py` call. It is not for users."""

from typing import Iterator, Optional

__version__: str

_Memory = tuple[str, str, Optional[bytes], int]
_Given = tuple[str, str, int, int, bytes]
_Event = tuple[int, str, Optional[int], Optional[float], Optional[list[tuple[int, float]]], Optional[str]]
_Word = tuple[str, float, float, float]
_Piece = tuple[
    int, int, float, float, str, list[int], float, float, float, float, Optional[list[_Word]]
]
_Came = tuple[
    list[_Piece], str, Optional[float], float, Optional[list[tuple[float, Optional[float], str]]]
]

class Llm:
    def __init__(
        self,
        path: str,
        device: str,
        threads: int | None,
        weights: str | None,
        precision_name: str,
        ctx_size: int,
        sequences: int,
        pages: int,
    ) -> None: ...
    def submit(
        self,
        prompts: list[list[int]],
        max_tokens: int | None,
        temperature: float,
        top_k: int,
        top_p: float,
        min_p: float,
        repeat_penalty: float,
        seed: int,
        stop: list[str],
        logprobs: int | None,
        bias: list[tuple[int, float]],
        form: tuple[str, str] | None,
    ) -> Generation: ...
    def logits(self, tokens: list[int], last: bool) -> bytes: ...
    def embed(self, tokens: list[int], pooling: str) -> bytes: ...
    def encode(self, text: str, special: bool) -> list[int]: ...
    def decode(self, tokens: list[int]) -> str: ...
    def render(
        self, messages: str, tools: str | None, add_generation_prompt: bool, now: int
    ) -> str: ...
    def has_template(self) -> bool: ...
    def facts(self) -> tuple[int, int, int, int, str, list[str]]: ...
    def close(self) -> None: ...

class Generation:
    seed: int
    def __iter__(self) -> Iterator[_Event]: ...
    def __next__(self) -> _Event: ...
    def close(self) -> None: ...

class Whisper:
    def __init__(
        self,
        path: str,
        device: str,
        threads: int | None,
        weights: str | None,
        precision_name: str,
    ) -> None: ...
    def transcribe(
        self,
        sound: tuple[str, str, bytes],
        language: str | None,
        task: str,
        beam_size: int,
        best_of: int,
        patience: float,
        length_penalty: float | None,
        temperatures: list[float],
        thresholds: tuple[float | None, float | None, float | None],
        condition_on_previous_text: bool,
        initial_prompt: str | None,
        without_timestamps: bool,
        word_timestamps: bool,
        hallucination_silence: float | None,
        clips: list[float],
        vad: tuple[float, int, int] | None,
        seed: int,
    ) -> Listening: ...
    def facts(self) -> tuple[bool, int, str]: ...
    def close(self) -> None: ...

class Listening:
    def __iter__(self) -> Iterator[_Came]: ...
    def __next__(self) -> _Came: ...
    def close(self) -> None: ...

def check_ptx(text: str, name: str, sm: str | None, ptx_limit: tuple[int, int] | None) -> str: ...
def kernels(text: str) -> list[tuple[str, list[tuple[str, str, int]], list[int] | None]]: ...
def run_ptx(
    text: str,
    name: str,
    kernel: str,
    grid: list[int],
    block: list[int],
    shared: int,
    memory: list[_Memory],
    args: list[_Given],
    checks: list[str] | None,
    schedules: int,
    seed: int | None,
    budget: int | None,
    sm: str | None,
    sms: int | None,
    cooperative: bool,
) -> tuple[str, list[bytes | None]]: ...
def devices() -> tuple[list[str], str | None]: ...

class Device:
    def __init__(self, name: str, check: bool) -> None: ...
    def facts(self) -> tuple[str, int | None, str, int, int]: ...
    def upload(self, bytes: bytes) -> Array: ...
    def alloc(self, bytes: int) -> Array: ...
    def load(self, text: str, name: str) -> Module: ...
    def synchronize(self) -> None: ...
    def findings(self) -> str: ...

class Array:
    @property
    def address(self) -> int: ...
    def download(self) -> bytes: ...
    def upload(self, bytes: bytes) -> None: ...

class Module:
    def names(self) -> list[str]: ...
    def kernel(self, name: str) -> Kernel: ...

class Kernel:
    def params(self) -> list[tuple[str, str, int]]: ...
    def block(self) -> list[int] | None: ...
    def launch(
        self,
        grid: list[int],
        block: list[int],
        shared: int,
        cooperative: bool,
        args: list[tuple[str, str, bytes, Array | None, int]],
    ) -> None: ...
