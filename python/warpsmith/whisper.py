"""Speech to text."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, Iterator, Sequence, Union

import numpy as np

from . import _native
from .errors import InputError, own_process

if TYPE_CHECKING:
    from types import TracebackType

    import numpy.typing as npt

__all__ = ["Segment", "TranscriptionInfo", "Whisper", "Word"]

#: Samples a second.
SAMPLE_RATE = 16_000

Audio = Union[str, "os.PathLike[str]", bytes, BinaryIO, "npt.NDArray[Any]"]


@dataclass
class Word:
    """A word of a segment: `start` and `end` in seconds, `word` with the space before it, `probability` from 0 to 1."""

    start: float
    end: float
    word: str
    probability: float


@dataclass
class Segment:
    """A piece of a transcript.

    id
        its number, from 1
    seek
        the first frame of 10 ms of the window that it was heard in
    start, end
        seconds
    text
        what was said
    tokens
        its tokens, timestamps included
    avg_logprob, compression_ratio, no_speech_prob, temperature
        of the window: the mean log-probability of tokens, how well the text compresses, how probable silence was, the
        temperature it was decoded at
    words
        each a `Word`, with word_timestamps; else None
    """

    id: int
    seek: int
    start: float
    end: float
    text: str
    tokens: list[int]
    avg_logprob: float
    compression_ratio: float
    no_speech_prob: float
    words: list[Word] | None
    temperature: float | None


@dataclass
class TranscriptionInfo:
    """What is known of a sound.

    language
        its code, heard or as it was given
    language_probability
        how probable it is among all languages, 0 to 1; 1 if it was given
    duration
        seconds
    missing
        pieces of a damaged sound that could not be read, each (start, end or None, why); complete when all segments came
    """

    language: str
    language_probability: float
    duration: float
    missing: list[tuple[float, float | None, str]] = field(default_factory=list)


class Whisper:
    """A Whisper model, tiny to large-v3 and turbo: a CTranslate2, ggml, GGUF or safetensors file, or a folder with one.

        whisper = Whisper("whisper-base")
        segments, info = whisper.transcribe("speech.flac")
        for segment in segments:
            print(f"[{segment.start:.2f} -> {segment.end:.2f}] {segment.text}")

    Several threads may use one model; their sounds come one after the other. It is also a context manager, which closes
    it.

    path
        the file or folder
    device
        "auto", "cuda:N", "virtual" or "virtual:SETTINGS"
    precision
        "fast": tensor cores on f16; "exact": f32 throughout
    weights
        rounds matrices while they are loaded: "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"
    threads
        threads of the virtual GPU, 1 to 1024; needs device="virtual"

    Raises ModelError for files that cannot be used, DeviceError without such a device, OutOfMemoryError.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        device: str = "auto",
        precision: str = "fast",
        weights: str | None = None,
        threads: int | None = None,
    ) -> None:
        self._native = _native.Whisper(os.fspath(path), device, threads, weights, precision)
        self._path = os.fspath(path)
        self._process = os.getpid()
        facts = self._native.facts()
        #: Whether it knows other languages than English.
        self.is_multilingual: bool = facts[0]
        #: The name of the device.
        self.device: str = facts[2]

    def __repr__(self) -> str:
        return f"Whisper({self._path!r}, device={self.device!r})"

    def __enter__(self) -> Whisper:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Frees the model. A sound that is being written down ends with ClosedError."""
        self._native.close()

    def transcribe(
        self,
        audio: Audio,
        *,
        language: str | None = None,
        task: str = "transcribe",
        beam_size: int = 1,
        best_of: int = 5,
        patience: float = 1.0,
        length_penalty: float | None = None,
        temperature: float | Sequence[float] = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
        compression_ratio_threshold: float | None = 2.4,
        log_prob_threshold: float | None = -1.0,
        no_speech_threshold: float | None = 0.6,
        condition_on_previous_text: bool = True,
        initial_prompt: str | None = None,
        without_timestamps: bool = False,
        word_timestamps: bool = False,
        hallucination_silence_threshold: float | None = None,
        clip_timestamps: Sequence[float] = (),
        vad_filter: bool = False,
        vad_threshold: float = 0.5,
        vad_min_silence_ms: int = 2000,
        vad_speech_pad_ms: int = 400,
        seed: int = 0,
    ) -> tuple[Iterator[Segment], TranscriptionInfo]:
        """Writes down what is said in a sound.

        audio
            the path of a WAV, FLAC, MP3, Opus, Vorbis, WebM, M4A, AIFF or CAF file; bytes or a binary file with one of
            these; or samples: float32 [samples] at 16 kHz from -1 to 1, one channel (other floats are converted, and
            int16 is divided by 32768)
        language
            its code or name; None hears which it is
        task
            "transcribe", or "translate" into English
        beam_size
            beams at temperature 0; 1 takes the most probable token each time
        best_of
            samples of which the best is taken at temperatures above 0
        temperature
            tried one after the other until a window is good enough by the thresholds
        word_timestamps
            gives segments their words
        clip_timestamps
            seconds at which clips begin and end, by turns; the last end may be left out
        vad_filter
            leaves out what is no speech; only of files

        Returns the segments, an iterator that works as it is consumed, and a `TranscriptionInfo`. The first window of 30 s
        is heard before this returns. Closing or dropping the iterator ends the work after its window, and so does Ctrl-C.

        Raises AudioError for a sound that cannot be read, InputError for an argument out of its range.
        """
        own_process(self._process)
        temperatures = [temperature] if isinstance(temperature, (int, float)) else list(temperature)
        vad = (vad_threshold, vad_min_silence_ms, vad_speech_pad_ms) if vad_filter else None
        listening = self._native.transcribe(
            _sound(audio),
            language,
            task,
            beam_size,
            best_of,
            patience,
            length_penalty,
            [float(one) for one in temperatures],
            (compression_ratio_threshold, log_prob_threshold, no_speech_threshold),
            condition_on_previous_text,
            initial_prompt,
            without_timestamps,
            word_timestamps,
            hallucination_silence_threshold,
            [float(at) for at in clip_timestamps],
            vad,
            seed,
        )
        first = next(listening)
        _, heard, probability, seconds, missing = first
        info = TranscriptionInfo(
            heard, 1.0 if probability is None else probability, seconds, list(missing or ())
        )
        return _segments(self._native, listening, first, info), info


def _segments(model: Any, listening: Any, first: Any, info: TranscriptionInfo) -> Iterator[Segment]:
    """The segments of what comes; `model` is not closed by itself before they have come."""
    came: Any = first
    try:
        while came is not None:
            pieces, _, _, _, missing = came
            for piece in pieces:
                yield _segment(piece)
            if missing is not None:
                info.missing = list(missing)
            came = next(listening, None)
    finally:
        listening.close()


def _segment(piece: Any) -> Segment:
    number, seek, start, end, text, tokens, temperature, logprob, ratio, silence, words = piece
    own = None
    if words is not None:
        own = [Word(start, end, word, probability) for word, start, end, probability in words]
    return Segment(
        id=number + 1,
        seek=seek,
        start=start,
        end=end,
        text=text,
        tokens=tokens,
        avg_logprob=logprob,
        compression_ratio=ratio,
        no_speech_prob=silence,
        words=own,
        temperature=temperature,
    )


def _sound(audio: Any) -> tuple[str, str, bytes]:
    if isinstance(audio, (bytes, bytearray, memoryview)):
        return "bytes", "", bytes(audio)
    if isinstance(audio, (str, os.PathLike)):
        return "file", os.fspath(audio), b""
    if hasattr(audio, "read"):
        return "bytes", "", audio.read()
    samples = np.asarray(audio)
    if samples.ndim != 1:
        raise InputError(
            f"audio: expected samples [n] at {SAMPLE_RATE} Hz, one channel, found an array {list(samples.shape)}"
        )
    if samples.dtype == np.int16:
        samples = samples.astype(np.float32) / 32768
    elif not np.issubdtype(samples.dtype, np.floating):
        raise InputError(f"audio: expected samples of float32 or int16, found {samples.dtype}")
    return "samples", "", samples.astype("<f4").tobytes()
