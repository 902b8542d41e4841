"""A table of prompts answered by Ray Data, one model on each worker; each batch goes through the engine together.

    python prompts.py prompts.parquet --model smollm2.gguf --out answers --workers 4

The table has a column `prompt`; all its columns are kept, and `answer` and `finish_reason` are added.
"""

from __future__ import annotations

import argparse
from typing import Any

import ray


class Writer:
    """One model, loaded once by each worker."""

    def __init__(self, model: str, device: str, threads: int | None, sequences: int, options: dict[str, Any]) -> None:
        from warpsmith import LLM

        self.llm = LLM(model, device=device, threads=threads, sequences=sequences)
        self.options = options

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        prompts = [self.llm.encode_chat(str(prompt)) for prompt in batch["prompt"]]
        answers = self.llm.generate(prompts, **self.options)
        batch["answer"] = [str(answer) for answer in answers]
        batch["finish_reason"] = [answer.finish_reason for answer in answers]
        return batch


def answered(
    table: ray.data.Dataset,
    model: str,
    *,
    workers: int = 2,
    device: str = "auto",
    threads: int | None = None,
    cpus: float = 1,
    gpus: float = 0,
    sequences: int = 16,
    **options: Any,
) -> ray.data.Dataset:
    """The table with answers; `options` are those of `LLM.generate`."""
    return table.map_batches(
        Writer,
        fn_constructor_args=(model, device, threads, sequences, options),
        batch_size=sequences,
        compute=ray.data.ActorPoolStrategy(size=workers),
        num_cpus=cpus,
        num_gpus=gpus,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("table", help="a Parquet file or folder")
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", required=True, help="a folder of Parquet files")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, help="threads of the virtual GPU of each worker")
    parser.add_argument("--cpus", type=float, default=1, help="CPUs of each worker")
    parser.add_argument("--gpus", type=float, default=0, help="cards of each worker")
    parser.add_argument("--max-tokens", type=int, default=256)
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--seed", type=int)
    args = parser.parse_args()
    rows = answered(
        ray.data.read_parquet(args.table),
        args.model,
        workers=args.workers,
        device=args.device,
        threads=args.threads,
        cpus=args.cpus,
        gpus=args.gpus,
        max_tokens=args.max_tokens,
        temperature=args.temperature,
        seed=args.seed,
    )
    rows.write_parquet(args.out)


if __name__ == "__main__":
    main()
