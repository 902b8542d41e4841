"""What a client's checks are run by: each prints a line, `ok`, `refused` or `FAIL`, with its name."""
import sys
import time

CHECKS = {}


def check(function=None, **known):
    """A check by its name. `refused=(100, "tcgen05")` is one that sm_100 is to refuse, with this word in what it says."""
    if function is None:
        return lambda function: check(function, **known)
    CHECKS[function.__name__] = (function, known.get("refused"))
    return function


def main(target):
    """Runs those that are named, or all."""
    failed = 0
    for name in sys.argv[1:] or CHECKS:
        function, refused = CHECKS[name]
        wanted = refused[1] if refused and refused[0] == target else None
        began = time.time()
        try:
            function()
            word, why = ("FAIL", f"it was to be refused: {wanted}") if wanted else ("ok", "")
        except Exception as error:
            word, why = "FAIL", f"{type(error).__name__}: {str(error)[:600]!r}"
            if wanted and wanted in str(error):
                word, why = "refused", wanted
        failed += word == "FAIL"
        print(f"{word} {name} {time.time() - began:.1f} s {why}".rstrip(), flush=True)
    sys.exit(failed > 0)
