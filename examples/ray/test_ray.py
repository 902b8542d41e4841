"""Ray on this machine: two workers give what single runs give, and a worker that is killed in mid-run loses nothing.

    pip install 'ray[data,serve]' pytest openai ./python
    WARPSMITH_PROGRAM=target/release/warpsmith pytest examples/ray

`WARPSMITH_CLIPS` says how many clips, 20 if it is not given.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import wave
from pathlib import Path

import numpy as np
import pytest
import ray

from prompts import answered
from transcribe import transcribed
from warpsmith import LLM, Whisper

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "warpsmith" / "models"
SMOLLM2 = str(CACHE / "smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf")
WHISPER = str(CACHE / "whisper-tiny.en")
PLACE = {"workers": 2, "device": "virtual", "threads": 1}


@pytest.fixture(scope="module", autouse=True)
def machine():
    paths = [str(Path(__file__).parent), *filter(None, os.environ.get("PYTHONPATH", "").split(":"))]
    ray.init(
        num_cpus=4,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": ":".join(paths)}},
    )
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def clips(tmp_path_factory) -> list[Path]:
    """Parts of two recordings, each another length and loudness."""
    folder = tmp_path_factory.mktemp("clips")
    made = []
    for number in range(int(os.environ.get("WARPSMITH_CLIPS", 20))):
        name = ("goforward.wav", "jfk.wav")[number % 2]
        with wave.open(str(ROOT / "suite" / "reference" / "audio" / name)) as file:
            rate, sound = file.getframerate(), np.frombuffer(file.readframes(file.getnframes()), np.int16)
        most = len(sound) - 4_000 * (number % 5)
        place = folder / f"clip{number:02}.wav"
        with wave.open(str(place), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(rate)
            file.writeframes((sound[:most] * (1 - number / 50)).astype(np.int16).tobytes())
        made.append(place)
    return made


def workers(name: str) -> list[int]:
    """Processes of Ray's workers on this machine whose title has `name`."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            title = place.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if title.startswith("ray::") and name in title:
            found.append(int(place.parent.name))
    return found


def kill_one(name: str, told: dict, after: float) -> threading.Thread:
    """Kills one of two workers by its number, once both are there and have worked for `after` seconds."""

    def kill() -> None:
        end = time.monotonic() + 120
        while time.monotonic() < end:
            living = workers(name)
            if len(living) >= 2:
                time.sleep(after)
                told["pid"] = living[0]
                os.kill(living[0], signal.SIGKILL)
                return
            time.sleep(0.05)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


@pytest.fixture(scope="module")
def alone(clips) -> dict[str, str]:
    with Whisper(WHISPER, device="virtual", threads=1) as whisper:
        texts = {}
        for clip in clips:
            segments, _ = whisper.transcribe(clip)
            texts[clip.name] = "".join(one.text for one in segments).strip()
    return texts


@pytest.mark.parametrize("killed", [False, True])
def test_two_workers_write_down_what_one_does_and_a_killed_one_loses_nothing(clips, alone, killed):
    told: dict = {}
    thread = kill_one("Transcriber", told, 2.0) if killed else None
    rows = transcribed(str(clips[0].parent), WHISPER, **PLACE).take_all()
    if thread:
        thread.join()
        assert told, "nobody was killed"
    assert sorted(Path(row["path"]).name for row in rows) == sorted(alone)
    assert {Path(row["path"]).name: row["text"] for row in rows} == alone
    assert all(row["error"] == "" for row in rows)


def test_a_table_of_prompts_is_answered_as_one_model_does():
    prompts = [f"What is {one} plus {one}?" for one in range(12)]
    with LLM(SMOLLM2, device="virtual", threads=1, sequences=1, precision="fast") as llm:
        want = {one: str(llm.chat(one, max_tokens=8, temperature=0)) for one in prompts}
    table = ray.data.from_items([{"prompt": one, "number": at} for at, one in enumerate(prompts)])
    rows = answered(table, SMOLLM2, sequences=4, max_tokens=8, temperature=0, **PLACE).take_all()
    assert sorted(row["number"] for row in rows) == list(range(12))
    assert {row["prompt"]: row["answer"] for row in rows} == want


@pytest.mark.skipif(not os.environ.get("WARPSMITH_PROGRAM"), reason="WARPSMITH_PROGRAM names no server")
def test_replicas_answer_openais_client_and_a_killed_one_comes_again():
    import importlib

    from openai import OpenAI
    from ray import serve as ray_serve

    os.environ.update(
        WARPSMITH_MODEL=SMOLLM2,
        WARPSMITH_LEAST="2",
        WARPSMITH_MOST="2",
        WARPSMITH_OPTIONS="--device virtual --threads 1 --ctx-size 256 --sequences 4 --no-embeddings",
    )
    module = importlib.import_module("serve")
    names = ("WARPSMITH_MODEL", "WARPSMITH_OPTIONS", "WARPSMITH_PROGRAM")
    variables = {name: os.environ[name] for name in names}
    server = module.Server.options(ray_actor_options={"runtime_env": {"env_vars": variables}})
    ray_serve.run(server.bind())
    client = OpenAI(base_url="http://127.0.0.1:8000/v1", api_key="none", max_retries=5)
    name = Path(SMOLLM2).stem

    def say(number: int) -> str:
        ask = [{"role": "user", "content": f"Name {number} colours"}]
        made = client.chat.completions.create(model=name, messages=ask, max_tokens=12, temperature=0)
        return made.choices[0].message.content

    first = [say(number) for number in range(4)]
    stream = client.chat.completions.create(
        model=name, messages=[{"role": "user", "content": "Name 1 colours"}], max_tokens=12, temperature=0, stream=True
    )
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == first[1]
    told: dict = {}
    kill_one("ServeReplica", told, 0.0).join()
    assert told
    assert [say(number) for number in range(4)] == first
    ray_serve.shutdown()
