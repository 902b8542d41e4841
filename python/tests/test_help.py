"""What is told about the package: each public thing has a text, and the stubs have what the native half has."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import warpsmith
from conftest import ROOT, SMOLLM2, SOUNDS, TINY
from kernels import SAXPY
from warpsmith import _native

PACKAGE = Path(warpsmith.__file__).parent


def test_each_public_thing_has_a_text():
    silent = []
    for name in warpsmith.__all__:
        thing = getattr(warpsmith, name)
        if inspect.ismodule(thing):
            inside = [getattr(thing, inner) for inner in thing.__all__]
        elif inspect.isclass(thing):
            members = vars(thing).values()
            inside = [thing, *(m for m in members if inspect.isfunction(m) and not m.__name__.startswith("_"))]
        elif inspect.isfunction(thing):
            inside = [thing]
        else:
            continue
        silent += [one for one in inside if not inspect.getdoc(one)]
    assert silent == []
    for text, words in [
        (inspect.getdoc(warpsmith.LLM.logits), ["float32 [tokens, vocab_size]", "ContextFullError"]),
        (inspect.getdoc(warpsmith.Whisper.transcribe), ["16 kHz", "seconds", "AudioError"]),
        (inspect.getdoc(warpsmith.ptx.run), ["FindingsError", "C-contiguous", "bytes of dynamic shared memory"]),
    ]:
        assert all(word in text for word in words)


def test_the_stubs_are_those_of_the_native_half():
    tree = ast.parse((PACKAGE / "_native.pyi").read_text())
    told = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            told[node.name] = None
        elif isinstance(node, ast.ClassDef):
            told[node.name] = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
    real = {name: value for name, value in vars(_native).items() if not name.startswith("_")}
    assert set(real) == set(told)
    for name, methods in told.items():
        if methods is not None:
            own = {key for key in vars(real[name]) if not key.startswith("_")}
            fields = {"seed"} if name == "Generation" else set()
            assert own - fields == {key for key in methods if not key.startswith("_")}, name
    assert (PACKAGE / "py.typed").exists()


@pytest.mark.parametrize("file", ["README.md", "python/README.md"])
def test_the_examples_of_the_documents_run(file, tmp_path, monkeypatch, capsys):
    text = (ROOT / file).read_text()
    examples = [code for code in re.findall(r"```python\n(.*?)```", text, re.S) if "warpsmith" in code]
    assert len(examples) >= 3
    monkeypatch.chdir(tmp_path)
    for name, place in [("smollm2.gguf", SMOLLM2), ("whisper-base", TINY), ("speech.flac", SOUNDS / "goforward.flac")]:
        (tmp_path / name).symlink_to(place)
    (tmp_path / "saxpy.ptx").write_text(SAXPY)
    for code in examples:
        names = {"__name__": "example"}
        exec(compile(code, file, "exec"), names)
        for name, test in list(names.items()):
            if name.startswith("test_"):
                from warpsmith.pytest_plugin import Checked

                test(Checked(2))
    assert capsys.readouterr().out
