"""What a client's checks are run by: each prints a line, `ok` or `FAIL`, with its name."""
import sys
import time

CHECKS = {}


def check(function):
    """A check by its name."""
    CHECKS[function.__name__] = function
    return function


def main():
    """Runs those that are named, or all."""
    failed = 0
    for name in sys.argv[1:] or CHECKS:
        began = time.time()
        try:
            CHECKS[name]()
            word, why = "ok", ""
        except Exception as error:
            word, why = "FAIL", f"{type(error).__name__}: {str(error)[:600]!r}"
        failed += word == "FAIL"
        print(f"{word} {name} {time.time() - began:.1f} s {why}".rstrip(), flush=True)
    sys.exit(failed > 0)
