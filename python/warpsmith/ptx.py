"""PTX checked, and run on a virtual GPU under a checker: no card is needed.

    from warpsmith import ptx

    findings = ptx.check(text)                                      # without running it
    ptx.run(text, "saxpy", grid=4, block=256, args=[x, y, 1000, 2.0])   # raises FindingsError where something is wrong

Where this says `ptx`, it takes a text, the path of a file (`os.PathLike`, or a name that ends in `.ptx`), what
`numba.cuda.compile_ptx` gives, a kernel that Triton compiled, a kernel of Numba, and code of `cuda.core`.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Sequence, Union

import numpy as np

from . import _native, errors
from ._kernels import Source, of
from .errors import FindingsError, InputError, PtxError

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Finding", "Out", "Run", "check", "kernels", "run"]

Extent = Union[int, Sequence[int]]


@dataclass(frozen=True)
class Finding:
    """Something that is wrong in a kernel, once for each pair of places; docs/checker.md has the kinds.

    kind
        such as "race_shared", "oob_global", "uninit_register", "schedule"
    level
        "error", "warning" (wrong if some path is taken) or "note" (no fault)
    kernel
        the kernel or function
    line, column
        in the PTX, from 1; None if there is none
    source
        "FILE:LINE" of what the PTX was compiled from, where it has `.loc`; `inlined` has all such places of inlined code
    other_line, other_source
        the other place that takes part, such as the other access of a race
    block, thread
        who was seen first, each (x, y, z)
    address, allocation
        the first address; the array nearest to it: name, start, bytes, distance in bytes
    count
        how often, in threads
    message, help, verdict
        what happened, what would help, whose fault it is
    text
        all of it as `warpsmith run --check` prints it, with the lines of PTX
    """

    kind: str
    level: str
    kernel: str
    message: str
    help: str
    verdict: str
    text: str
    count: int = 1
    line: int | None = None
    column: int | None = None
    source: str | None = None
    other_line: int | None = None
    other_source: str | None = None
    entry_line: int | None = None
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    address: int | None = None
    allocation: dict[str, Any] | None = None
    inlined: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Run:
    """What came of a run: `findings`, notes among them, and what kernels `printed`."""

    findings: list[Finding] = field(default_factory=list)
    printed: str = ""


class Out:
    """An array as a kernel's output: nobody wrote it before the launch, and all of it is read afterwards.

    Then the checker finds what the kernel reads of it before it writes it, and elements that it never writes.
    """

    def __init__(self, array: npt.NDArray[Any]) -> None:
        self.array = array


def check(
    ptx: Any,
    *,
    sm: str | int | None = None,
    ptx_limit: tuple[int, int] | None = None,
    name: str | None = None,
) -> list[Finding]:
    """Finds faults in PTX without running it.

    ptx
        a text, a file, or a compiled kernel
    sm
        the target of the device, such as 80 or "sm_90a"; None is the module's own
    ptx_limit
        the newest version of PTX that the device's driver takes, such as (7, 8)
    name
        what the text is called in findings

    Returns what was found, the findings "syntax" and "verify" of a text that is no PTX among it; an empty list is good.
    Raises PtxError for what is PTX of no kind, such as CUDA C++.
    """
    source = of(ptx, name=name)
    target = None if sm is None else str(sm)
    report = json.loads(_native.check_ptx(source.text, source.name, target, ptx_limit))
    findings = findings_of(report)
    if report["failure"] and not findings:
        raise _failure(report["failure"])
    return findings


def kernels(ptx: Any) -> dict[str, list[tuple[str, str, int]]]:
    """The kernels of a module, and of each the parameters: name, type of PTX, bytes. Raises PtxError if it does not parse."""
    source = of(ptx)
    found = _native.kernels(source.text)
    if not found:
        errors_ = [one for one in check(ptx) if one.kind in ("syntax", "verify")]
        if errors_:
            raise PtxError("\n".join(one.text for one in errors_))
    return {kernel: params for kernel, params, _ in found}


def run(
    ptx: Any,
    kernel: str | None = None,
    grid: Extent = 1,
    block: Extent | None = None,
    args: Sequence[Any] = (),
    *,
    shared: int | None = None,
    check: bool | Sequence[str] = True,
    schedules: int | None = None,
    seed: int | None = None,
    budget: int | None = None,
    sm: str | int | None = None,
    sms: int | None = None,
    cooperative: bool = False,
    abi: str | None = None,
    raises: bool = True,
    name: str | None = None,
) -> Run:
    """Runs a kernel on the virtual GPU, under the checker unless `check` is False.

    kernel
        its name; may be left out where the module has one
    grid, block
        CTAs, and threads of a CTA: a number, or up to three. `block` may be left out where the kernel requires one.
    args
        one for each parameter. An array of numpy, C-contiguous, is memory of the device with its contents, and has what
        the kernel left in it afterwards; `Out(array)` is memory that nobody wrote. A number is of the type of its
        parameter; a scalar of numpy has to have it. None is the null pointer, bytes are a structure.
    shared
        bytes of dynamic shared memory; None is 0, or what a compiled kernel says
    check
        True for all kinds of findings, a list of kinds, or False
    schedules
        runs in so many orders of CTAs, warps and lanes, which must leave the same; None is 8 with `check`, else 1
    seed
        the first of the orders
    budget
        stops after so many instructions, each counted once for a warp
    sm
        the target of the device; None is the module's own
    sms
        its multiprocessors
    cooperative
        all CTAs exist at once
    abi
        "numba": each array is handed over as Numba does; known of Numba's own kernels
    raises
        whether findings are raised; else they are in what comes back

    Returns a `Run`. Raises FindingsError, whose text has everything with its lines and whose `findings` are those of
    levels "error" and "warning"; KernelFault for a `trap` or an assertion; PtxError; UnsupportedError; InputError for
    arguments that do not fit the kernel, with the number of the argument. Ctrl-C stops it.
    """
    own = abi or ("numba" if hasattr(ptx, "py_func") else None)
    if own not in (None, "numba"):
        raise InputError(f'abi: expected "numba" or None, found {own!r}')
    source = of(ptx, args=[_array(arg) for arg in args], sm=sm, name=name)
    entry, wanted = _kernel(source, kernel)
    size = block if block is not None else (source.block or wanted)
    if size is None:
        raise InputError(f"block: expected the threads of a CTA, as `{entry}` requires none, found None")
    memory, given, arrays = _arguments(args, own)
    missing = len(source.params(entry)) - len(given)
    if 0 < missing <= source.scratch:
        given += [_NULL] * missing
    kinds = None if check is False else [] if check is True else list(check)
    orders = schedules if schedules is not None else (1 if kinds is None else 8)
    for what, number, least in (("schedules", orders, 1), ("budget", budget, 1), ("sms", sms, 1)):
        if number is not None and number < least:
            raise InputError(f"{what}: expected a number from {least}, found {number}")
    text, kept = _native.run_ptx(
        source.text,
        source.name,
        entry,
        extent("grid", grid),
        extent("block", size),
        source.shared if shared is None else shared,
        memory,
        given,
        kinds,
        orders if kinds is not None or orders > 1 else 0,
        seed,
        budget,
        None if sm is None else str(sm),
        sms,
        cooperative,
    )
    report = json.loads(text)
    findings = findings_of(report)
    if report["failure"] is None:
        for number, (array, after) in enumerate(zip(arrays, kept)):
            if after is not None:
                _write_back(number, array, after)
    wrong = [one for one in findings if one.level != "note"]
    if raises and wrong:
        raise FindingsError(_told(wrong, report), wrong)
    if report["failure"]:
        raise _failure(report["failure"])
    return Run(findings, report.get("printed", ""))


def _told(findings: Sequence[Finding], report: Any) -> str:
    parts = [one.text.rstrip("\n") for one in findings]
    if report.get("printed"):
        parts.append("printed:\n" + report["printed"].rstrip("\n"))
    if report["failure"]:
        parts.append("and it did not run to its end: " + report["failure"][1])
    head = f"{len(findings)} finding{'s' if len(findings) > 1 else ''} in `{findings[0].kernel}`"
    return "\n\n".join([head, *parts])


def _failure(failure: Sequence[str]) -> errors.WarpsmithError:
    kind, text = failure
    made: errors.WarpsmithError = getattr(errors, kind)(text)
    return made


def findings_of(report: Any) -> list[Finding]:
    """The findings of a report in JSON."""
    found = []
    for one in report["findings"]:
        one = dict(one)
        for key in ("block", "thread"):
            one[key] = None if one[key] is None else tuple(one[key])
        one["inlined"] = tuple(one.get("inlined", ()))
        found.append(Finding(**one))
    return found


def extent(what: str, given: Any) -> list[int]:
    """A number, or up to three, as three."""
    sizes = [given] if isinstance(given, (int, np.integer)) else list(given)
    if not 1 <= len(sizes) <= 3 or any(not 0 < size < 1 << 32 for size in sizes):
        raise InputError(f"{what}: expected one to three numbers from 1, found {given!r}")
    return [int(size) for size in sizes] + [1] * (3 - len(sizes))


def _kernel(source: Source, kernel: str | None) -> tuple[str, list[int] | None]:
    """The kernel's name, and the block that it requires."""
    found = {entry: block for entry, _, block in source.kernels}
    if kernel is None:
        kernel = source.kernel if source.kernel in found else None
    if kernel is None:
        if len(found) != 1:
            # What does not parse is told when it is run.
            if not found:
                return "", [1, 1, 1]
            raise InputError(f"kernel: expected one of {', '.join(found)}, found None")
        kernel = next(iter(found))
    return kernel, found.get(kernel)


#: An argument of the native half: kind, text, number of a buffer, offset, bytes.
_NULL = ("null", "", 0, 0, b"")


def number(kind: str, text: str = "", raw: bytes = b"") -> tuple[str, str, int, int, bytes]:
    return kind, text, 0, 0, raw


def scalar(where: str, arg: Any) -> tuple[str, str, int, int, bytes]:
    """An argument that is no array."""
    if arg is None:
        return _NULL
    if isinstance(arg, (bool, np.bool_)):
        return number("number", str(int(arg)))
    if isinstance(arg, np.generic):
        return number("scalar", element(arg.dtype), arg.tobytes())
    if isinstance(arg, int):
        return number("number", str(arg))
    if isinstance(arg, float):
        return number("number", repr(arg))
    if isinstance(arg, (bytes, bytearray)):
        return number("bytes", raw=bytes(arg))
    raise InputError(f"{where}: expected an array, a number, None or bytes, found {type(arg).__name__}")


def _array(arg: Any) -> Any:
    """The array that an argument is, or the argument."""
    if isinstance(arg, Out):
        return arg.array
    if isinstance(arg, (np.ndarray, np.generic)):
        return arg
    return np.asarray(arg) if hasattr(arg, "__array__") else arg


def _arguments(args: Sequence[Any], abi: str | None) -> tuple[list[Any], list[Any], list[Any]]:
    """Memory, arguments, and the arrays that the memory is of."""
    memory: list[Any] = []
    given: list[Any] = []
    arrays: list[Any] = []
    for at, arg in enumerate(args):
        array = _array(arg)
        if not isinstance(array, np.ndarray):
            given.append(scalar(f"args[{at}]", arg))
            continue
        where = f"args[{at}]"
        if not array.flags.c_contiguous:
            raise InputError(
                f"{where}: expected a C-contiguous array (numpy.ascontiguousarray makes one), found strides {array.strides}"
            )
        if not array.dtype.isnative or array.dtype.hasobject:
            raise InputError(f"{where}: expected numbers in this machine's order of bytes, found {array.dtype}")
        own = None
        # An array of nothing has no address.
        for known, other in enumerate(arrays if array.nbytes else []):
            if other is array:
                own = known
            elif np.shares_memory(other, array):
                raise InputError(f"{where}: expected memory of its own, found memory of an argument before it")
        if own is None and array.nbytes:
            own = len(arrays)
            arrays.append(array)
            contents = None if isinstance(arg, Out) else array.tobytes()
            memory.append((where, element(array.dtype), contents, array.nbytes))
        place = _NULL if own is None else ("buffer", "", own, 0, b"")
        if abi == "numba":
            sizes = [array.size, array.itemsize]
            given += [_NULL, _NULL, *(number("number", str(size)) for size in sizes), place]
            given += [number("number", str(size)) for size in (*array.shape, *array.strides)]
        else:
            given.append(place)
    return memory, given, arrays


_ELEMENTS = {"float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16", "bool": "u8"}


def element(dtype: Any) -> str:
    """The name that PTX has for a type of numpy; a byte for what it has none for."""
    known = _ELEMENTS.get(dtype.name)
    if known:
        return known
    kind = {"i": "s", "u": "u"}.get(dtype.kind)
    return f"{kind}{8 * dtype.itemsize}" if kind else "u8"


def _write_back(number: int, array: Any, after: bytes) -> None:
    if array.flags.writeable:
        array[...] = np.frombuffer(after, dtype=array.dtype).reshape(array.shape)
    elif array.tobytes() != after:
        raise InputError(f"array {number}: expected it unchanged, as it is read-only, and the kernel wrote to it")


def read(path: str | os.PathLike[str]) -> str:
    """The text of a file."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()
