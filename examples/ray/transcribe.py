"""A folder of recordings written down by Ray Data, one model on each worker.

    python transcribe.py RECORDINGS --model whisper-base --out texts --workers 4
    ray job submit -- python transcribe.py s3://bucket/recordings --model /models/whisper-base --out s3://bucket/texts

Each row is `path`, `language`, `duration`, `text`, and `segments` as JSON. What a worker had in hand when it died is done
again by another one.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import ray

EXTENSIONS = ["wav", "flac", "mp3", "opus", "ogg", "webm", "m4a", "aiff", "caf"]


class Transcriber:
    """One model, loaded once by each worker."""

    def __init__(self, model: str, device: str, threads: int | None, language: str | None) -> None:
        from warpsmith import Whisper

        self.whisper = Whisper(model, device=device, threads=threads)
        self.language = language

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        from warpsmith.errors import AudioError

        try:
            found, info = self.whisper.transcribe(row["bytes"], language=self.language)
            segments = [
                {"start": one.start, "end": one.end, "text": one.text} for one in found
            ]
        except AudioError as error:
            # A recording that cannot be read is told of, and stops nobody.
            return {"path": row["path"], "language": "", "duration": 0.0, "text": "", "segments": "[]", "error": str(error)}
        return {
            "path": row["path"],
            "language": info.language,
            "duration": info.duration,
            "text": "".join(one["text"] for one in segments).strip(),
            "segments": json.dumps(segments),
            "error": "",
        }


def transcribed(
    recordings: str | list[str],
    model: str,
    *,
    workers: int = 2,
    device: str = "auto",
    threads: int | None = None,
    cpus: float = 1,
    gpus: float = 0,
    language: str | None = None,
) -> ray.data.Dataset:
    """The rows of all recordings, made as they are consumed."""
    sounds = ray.data.read_binary_files(recordings, include_paths=True, file_extensions=EXTENSIONS)
    # Small pieces, so that all workers have some and little is lost with one.
    sounds = sounds.repartition(target_num_rows_per_block=1)
    return sounds.map(
        Transcriber,
        fn_constructor_args=(model, device, threads, language),
        compute=ray.data.ActorPoolStrategy(size=workers),
        num_cpus=cpus,
        num_gpus=gpus,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("recordings")
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", required=True, help="a folder of Parquet files")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, help="threads of the virtual GPU of each worker")
    parser.add_argument("--cpus", type=float, default=1, help="CPUs of each worker")
    parser.add_argument("--gpus", type=float, default=0, help="cards of each worker")
    parser.add_argument("--language")
    args = parser.parse_args()
    rows = transcribed(
        args.recordings,
        args.model,
        workers=args.workers,
        device=args.device,
        threads=args.threads,
        cpus=args.cpus,
        gpus=args.gpus,
        language=args.language,
    )
    rows.write_parquet(args.out)


if __name__ == "__main__":
    main()
