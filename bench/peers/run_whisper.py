"""Times faster-whisper and whisper.cpp (through pywhispercpp) on a CTranslate2 Whisper model and a clip, as JSON.

Both decode greedily, without timestamps and without another try; an encoder pass is timed alone as well.
"""

import argparse
import json
import pathlib
import resource
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import numpy

TYPES = {0: "<f4", 1: "i1", 2: "<i2", 3: "<i4", 4: "<f2"}


def tensors(path):
    """The tensors of a CTranslate2 `model.bin`, by name."""
    data, at = path.read_bytes(), 0

    def number(form):
        nonlocal at
        at += struct.calcsize("<" + form)
        return struct.unpack_from("<" + form, data, at - struct.calcsize("<" + form))[0]

    def name():
        nonlocal at
        length = number("H")
        at += length
        return data[at - length : at - 1].decode()

    number("I"), name(), number("I")
    found = {}
    for _ in range(number("I")):
        key = name()
        shape = [number("I") for _ in range(number("B"))]
        kind, size = TYPES[number("B")], number("I")
        count = size // numpy.dtype(kind).itemsize
        found[key] = numpy.frombuffer(data, kind, count, at).reshape(shape)
        at += size
    return found


def renamed(found):
    """The same under the names of OpenAI's checkpoints, with stacked projections taken apart."""
    out = {"decoder.token_embedding.weight": found["decoder/embeddings/weight"]}
    for conv in ("conv1", "conv2"):
        for part in ("weight", "bias"):
            out[f"encoder.{conv}.{part}"] = found[f"encoder/{conv}/{part}"]

    def linear(to, source, which=slice(None), bias=True):
        out[to + ".weight"] = found[source + "/weight"][which]
        if bias:
            out[to + ".bias"] = found[source + "/bias"][which]

    def norm(to, source):
        out[to + ".weight"], out[to + ".bias"] = found[source + "/gamma"], found[source + "/beta"]

    for side, last in (("encoder", "ln_post"), ("decoder", "ln")):
        positions = found[f"{side}/position_encodings/encodings"]
        out[f"{side}.positional_embedding"] = positions
        norm(f"{side}.{last}", f"{side}/layer_norm")
        d = positions.shape[1]
        parts = [slice(i * d, (i + 1) * d) for i in range(3)]
        for layer in range(layers(found, side)):
            to, source = f"{side}.blocks.{layer}.", f"{side}/layer_{layer}/"
            for i, part in enumerate(("query", "key", "value")):
                linear(to + "attn." + part, source + "self_attention/linear_0", parts[i], part != "key")
            linear(to + "attn.out", source + "self_attention/linear_1")
            norm(to + "attn_ln", source + "self_attention/layer_norm")
            if side == "decoder":
                linear(to + "cross_attn.query", source + "attention/linear_0")
                linear(to + "cross_attn.key", source + "attention/linear_1", parts[0], False)
                linear(to + "cross_attn.value", source + "attention/linear_1", parts[1])
                linear(to + "cross_attn.out", source + "attention/linear_2")
                norm(to + "cross_attn_ln", source + "attention/layer_norm")
            linear(to + "mlp.0", source + "ffn/linear_0")
            linear(to + "mlp.2", source + "ffn/linear_1")
            norm(to + "mlp_ln", source + "ffn/layer_norm")
    return out


def layers(found, side):
    return sum(key.startswith(side) and key.endswith("ffn/linear_0/weight") for key in found)


def byte_of():
    """The byte that each letter of a byte-level vocabulary stands for."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in plain]
    return {chr(b): b for b in plain} | {chr(256 + i): b for i, b in enumerate(rest)}


def write_ggml(folder, filters, path):
    """Writes the model of `folder` as whisper.cpp reads it, with the mel bands that the folder `filters` has."""
    found = tensors(folder / "model.bin")
    (vocab, d), audio = found["decoder/embeddings/weight"].shape, found["encoder/position_encodings/encodings"]
    heads = [int(found[f"{side}/num_heads"]) for side in ("encoder", "decoder")]
    text_context = found["decoder/position_encodings/encodings"].shape[0]
    header = [vocab, audio.shape[0], audio.shape[1], heads[0], layers(found, "encoder")]
    header += [text_context, d, heads[1], layers(found, "decoder"), found["encoder/conv1/weight"].shape[1], 1]
    mels, letters = header[9], byte_of()
    words = (folder / "vocabulary.txt").read_text().split("\n")
    plain = 50257 if vocab >= 51865 else 50256
    with path.open("wb") as out:
        out.write(struct.pack("<I11i2i", 0x67676D6C, *header, mels, 201))
        out.write((filters / f"mel_filters_{mels}x201.f32.bin").read_bytes())
        out.write(struct.pack("<i", plain))
        for word in words[:plain]:
            word = bytes(letters[letter] for letter in word)
            out.write(struct.pack("<i", len(word)) + word)
        for name, tensor in renamed(found).items():
            convolution = name.endswith(("conv1.bias", "conv2.bias"))
            tensor = tensor.reshape(-1, 1) if convolution else tensor
            half = tensor.ndim >= 2 and not convolution and not name.endswith("positional_embedding")
            text = name.encode()
            out.write(struct.pack("<3i", tensor.ndim, len(text), int(half)))
            out.write(struct.pack(f"<{tensor.ndim}i", *reversed(tensor.shape)))
            out.write(text + tensor.astype("<f2" if half else "<f4").tobytes())


class FasterWhisper:
    def __init__(self, args):
        import faster_whisper

        self.module, self.clip = faster_whisper, str(args.clip)
        self.name, self.version = f"faster-whisper {args.kind}", faster_whisper.__version__
        start = time.perf_counter()
        self.model = faster_whisper.WhisperModel(
            str(args.model), device="cpu", compute_type=args.kind, cpu_threads=args.threads
        )
        self.load_s = time.perf_counter() - start
        sound = faster_whisper.decode_audio(self.clip)
        features = self.model.feature_extractor(sound)
        self.features = faster_whisper.audio.pad_or_trim(features)

    def transcribe(self):
        segments, _ = self.model.transcribe(
            self.clip,
            language="en",
            beam_size=1,
            best_of=1,
            temperature=0,
            without_timestamps=True,
            condition_on_previous_text=False,
        )
        return "".join(segment.text for segment in segments)

    def encode(self):
        self.model.encode(self.features)


class WhisperCpp:
    def __init__(self, args):
        import importlib.metadata

        import _pywhispercpp
        import pywhispercpp.model

        self.module, self.clip, self.threads = _pywhispercpp, str(args.clip), args.threads
        self.name, self.version = "whisper.cpp f16, pywhispercpp", importlib.metadata.version("pywhispercpp")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "ggml.bin"
            # In a process of its own: the arrays are no memory of the engine.
            subprocess.run([sys.executable, __file__, "ggml", *sys.argv[2:], "--out", str(file)], check=True)
            start = time.perf_counter()
            self.model = pywhispercpp.model.Model(
                str(file),
                n_threads=args.threads,
                print_progress=False,
                print_realtime=False,
                redirect_whispercpp_logs_to=None,
            )
            self.load_s = time.perf_counter() - start

    def transcribe(self):
        segments = self.model.transcribe(
            self.clip, language="en", temperature=0.0, temperature_inc=0.0, no_timestamps=True, no_context=True
        )
        return "".join(segment.text for segment in segments)

    def encode(self):
        # Of the spectrogram that the last transcription left in the context; keys and values of the audio included.
        if self.module.whisper_encode(self.model._ctx, 0, self.threads) != 0:
            sys.exit("whisper_encode failed")


def timed(work):
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=["faster-whisper", "whisper.cpp", "ggml"])
    parser.add_argument("--model", type=pathlib.Path, required=True, help="folder with model.bin and vocabulary.txt")
    parser.add_argument("--clip", type=pathlib.Path, required=True)
    parser.add_argument("--filters", type=pathlib.Path, help="folder of mel filters for whisper.cpp, f32 [bands, 201]")
    parser.add_argument("--kind", default="float32", help="how faster-whisper computes")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.engine == "ggml":
        write_ggml(args.model, args.filters, args.out)
        return

    engine = {"faster-whisper": FasterWhisper, "whisper.cpp": WhisperCpp}[args.engine](args)
    work, encode, text = [], [], ""
    for turn in range(args.runs + 1):
        worked, text = timed(engine.transcribe)
        encoded, _ = timed(engine.encode)
        if turn > 0:  # turn 0 warms the caches and the threads
            work.append(worked)
            encode.append(encoded)
    json.dump(
        {
            "peer": engine.name,
            "version": engine.version,
            "threads": args.threads,
            "load_s": engine.load_s,
            "work_s": statistics.median(work),
            "work_runs": work,
            "encode_s": statistics.median(encode),
            "encode_runs": encode,
            "text": text.strip(),
            "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        },
        sys.stdout,
    )
    print()


if __name__ == "__main__":
    main()
