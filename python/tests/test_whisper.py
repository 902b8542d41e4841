"""Speech from Python: files, bytes and samples, segments and words, errors, interruptions."""

from __future__ import annotations

import wave

import numpy as np
import pytest

import warpsmith
from conftest import SOUNDS
from warpsmith.errors import AudioError, ClosedError, InputError, ModelError, UnsupportedError


def samples(name: str) -> np.ndarray:
    with wave.open(str(SOUNDS / name)) as file:
        assert file.getframerate() == 16_000 and file.getnchannels() == 1
        return np.frombuffer(file.readframes(file.getnframes()), np.int16)


def test_a_sound_is_text_with_times_and_words(whisper):
    segments, info = whisper.transcribe(SOUNDS / "goforward.wav", word_timestamps=True)
    segments = list(segments)
    assert info.language == "en" and 0.3 < info.language_probability <= 1
    assert info.duration == pytest.approx(len(samples("goforward.wav")) / 16_000) and info.missing == []
    text = "".join(segment.text for segment in segments)
    assert "forward" in text
    assert [segment.id for segment in segments] == list(range(1, len(segments) + 1))
    words = [word for segment in segments for word in segment.words]
    assert "".join(word.word for word in words) == text
    assert all(0 <= word.start <= word.end <= info.duration for word in words)
    assert all(0 <= word.probability <= 1 for word in words)
    assert segments[0].avg_logprob < 0 and segments[0].temperature == 0


def test_samples_bytes_and_files_are_the_same_sound(tiny):
    file = SOUNDS / "goforward.wav"
    raw = samples("goforward.wav")
    sounds = [file.open("rb"), raw, raw / np.float64(32768)]
    texts = set()
    for sound in sounds:
        segments, info = tiny.transcribe(sound, language="en")
        texts.add("".join(segment.text for segment in segments))
        assert info.language == "en" and info.language_probability == 1
    assert len(texts) == 1 and "forward" in texts.pop()


def test_beams_languages_and_clips(whisper):
    segments, info = whisper.transcribe(SOUNDS / "deutsch.wav", language="german", beam_size=2)
    assert info.language == "de" and list(segments)
    nothing, info = whisper.transcribe(np.zeros(0, np.float32), language="en")
    assert list(nothing) == [] and info.duration == 0


def test_what_cannot_be_heard_is_an_error(tiny, tmp_path):
    for sound, error in [
        (tmp_path / "none.wav", AudioError),
        (b"this is no sound", AudioError),
        (np.full(1000, np.nan, np.float32), AudioError),
        (np.zeros((2, 16000), np.float32), InputError),
        (np.zeros(100, np.int64), InputError),
    ]:
        with pytest.raises(error):
            tiny.transcribe(sound, language="en")
    for options in (
        {"language": "klingon"},
        {"task": "sing"},
        {"beam_size": 0},
        {"best_of": 99},
        {"temperature": -1.0},
        {"temperature": []},
        {"patience": 0.0},
        {"clip_timestamps": [3.0, 1.0]},
    ):
        with pytest.raises(InputError, match=next(iter(options))):
            tiny.transcribe(np.zeros(100, np.float32), **options)
    with pytest.raises(UnsupportedError, match="vad_filter"):
        tiny.transcribe(np.zeros(100, np.float32), vad_filter=True)
    with pytest.raises(ModelError):
        warpsmith.Whisper(tmp_path, device="virtual")


def test_ctrl_c_ends_a_transcription(tiny, interrupted):
    said = samples("goforward.wav")
    minutes = np.tile(np.concatenate([said, np.zeros(30 * 16_000 - len(said), np.int16)]), 3)
    segments, _ = tiny.transcribe(minutes, language="en")
    with interrupted(0.05), pytest.raises(KeyboardInterrupt):
        list(segments)
    assert list(segments) == []
    # It listens again, and a closed model does not.
    again, _ = tiny.transcribe(SOUNDS / "goforward.wav", language="en")
    assert list(again)
    rest, _ = tiny.transcribe(minutes, language="en")
    tiny.close()
    with pytest.raises(ClosedError):
        list(rest)
    with pytest.raises(ClosedError):
        tiny.transcribe(minutes)
