"""Times llama.cpp (through llama-cpp-python) on a GGUF file, as JSON: prefill of N token ids, decode of M, the
same of many, several sequences at once.
"""

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


def together(path, sequences, steps, threads, runs):
    """Tokens a second of all `sequences` that go on together, each from a prompt of one: a pass gives logits for each."""
    model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = sequences * -(-(steps + 8) // 256) * 256  # what it rounds up to
    params.n_batch = params.n_ubatch = max(sequences, 32)
    params.n_seq_max = sequences
    params.n_threads = params.n_threads_batch = threads
    context = llama_cpp.llama_init_from_model(model, params)
    batch = llama_cpp.llama_batch_init(sequences, 0, 1)
    ids = token_ids(sequences * (steps + 1))

    def step(position):
        batch.n_tokens = sequences
        for at in range(sequences):
            batch.token[at] = ids[position * sequences + at]
            batch.pos[at] = position
            batch.n_seq_id[at] = 1
            batch.seq_id[at][0] = at
            batch.logits[at] = True
        if llama_cpp.llama_decode(context, batch) != 0:
            sys.exit(f"llama_decode of {sequences} sequences failed")
        llama_cpp.llama_synchronize(context)

    speeds = []
    for run in range(runs + 1):
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(context), True)
        step(0)
        start = time.perf_counter()
        for position in range(1, steps + 1):
            step(position)
        if run > 0:
            speeds.append(sequences * steps / (time.perf_counter() - start))
    llama_cpp.llama_batch_free(batch)
    llama_cpp.llama_free(context)
    llama_cpp.llama_model_free(model)
    return {"steps": steps, "tok_s": statistics.median(speeds), "runs": speeds}


def long(path, threads, runs):
    """A prompt of 2,048 tokens, by 512 at a time as it does by default, and 32 tokens behind 2,000."""
    tokens, context, steps = 2048, 2000, 32
    model = Llama(
        path, n_ctx=tokens + steps, n_threads=threads, n_threads_batch=threads, n_gpu_layers=0, verbose=False
    )
    prompt, follow = token_ids(tokens), token_ids(steps)
    prefill, decode = [], []
    for run in range(runs + 1):
        model.reset()
        start = time.perf_counter()
        model.eval(prompt)
        prefilled = tokens / (time.perf_counter() - start)
        model.reset()
        model.eval(prompt[:context])
        start = time.perf_counter()
        for token in follow:
            model.eval([token])
        decoded = steps / (time.perf_counter() - start)
        if run > 0:
            prefill.append(prefilled)
            decode.append(decoded)
    model.close()
    return {
        "prefill": {"tokens": tokens, "tok_s": statistics.median(prefill), "runs": prefill},
        "decode": {"context": context, "tok_s": statistics.median(decode), "runs": decode},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prefill", type=int, default=512)
    parser.add_argument("--decode", type=int, default=128)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--batch", type=int, nargs="*", default=[1, 4, 16, 32], help="sequences at once")
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

    # Before contexts of many sequences take memory.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    model.close()
    steps = max(-(-args.decode // 4), 1)  # as ours
    longer = long(args.model, args.threads, args.runs)
    batch = {str(count): together(args.model, count, steps, args.threads, args.runs) for count in args.batch}

    json.dump(
        {
            "peer": "llama.cpp",
            "version": llama_cpp.__version__,
            "threads": args.threads,
            "load_s": load,
            "prefill": {"tokens": args.prefill, "tok_s": statistics.median(prefill), "runs": prefill},
            "decode": {"tokens": args.decode, "context": 1, "tok_s": statistics.median(decode), "runs": decode},
            "long": longer,
            "batch": batch,
            "peak_rss_mib": peak,
        },
        sys.stdout,
    )
    print()


if __name__ == "__main__":
    main()
