"""Times llama.cpp (through llama-cpp-python) on a GGUF file: prefill of N token ids, decode of M, as JSON."""

import argparse
import json
import resource
import statistics
import sys
import time

import llama_cpp
from llama_cpp import Llama


def token_ids(count):
    """The ids every peer is fed: spread over the vocabulary, the same on each run."""
    return [100 + i * 7919 % 40_000 for i in range(count)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prefill", type=int, default=512)
    parser.add_argument("--decode", type=int, default=128)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()

    start = time.perf_counter()
    model = Llama(
        args.model,
        n_ctx=max(args.prefill, args.decode + 1) + 8,
        n_batch=max(args.prefill, 1),
        n_ubatch=max(args.prefill, 1),
        n_threads=args.threads,
        n_threads_batch=args.threads,
        n_gpu_layers=0,
        verbose=False,
    )
    load = time.perf_counter() - start

    prefill, decode = [], []
    prompt, follow = token_ids(args.prefill), token_ids(args.decode)
    for run in range(args.runs + 1):
        model.reset()
        start = time.perf_counter()
        model.eval(prompt)
        prefilled = time.perf_counter() - start

        model.reset()
        model.eval(prompt[:1])
        start = time.perf_counter()
        for token in follow:
            model.eval([token])
        decoded = time.perf_counter() - start
        if run > 0:  # run 0 warms the caches and the threads
            prefill.append(args.prefill / prefilled)
            decode.append(args.decode / decoded)

    json.dump(
        {
            "peer": "llama.cpp",
            "version": llama_cpp.__version__,
            "threads": args.threads,
            "load_s": load,
            "prefill": {"tokens": args.prefill, "tok_s": statistics.median(prefill), "runs": prefill},
            "decode": {"tokens": args.decode, "context": 1, "tok_s": statistics.median(decode), "runs": decode},
            "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        },
        sys.stdout,
    )
    print()


if __name__ == "__main__":
    main()
