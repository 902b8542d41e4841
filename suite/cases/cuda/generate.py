#!/usr/bin/env python3
"""Writes what stands beside each NAME.cu here: PTX by NVRTC, inputs, and what a CPU says the outputs are.

    generate.py [NAME...]        run by `cargo xtask cuda`, which installs numpy, NVRTC and CUDA's headers

A program is NAME.cu with one kernel `k`, and a function NAME in reference/*.py that makes the launch and
computes the outputs with numpy, without looking at the CUDA source. What is written is NAME/NAME.json, a
run script; its data; and the PTX of each target that the program is for.
"""
import ctypes, glob, importlib, json, os, shutil, site, sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)


class Case:
    """One launch: grid, block, arguments in order, and how results compare."""

    def __init__(self, grid=1, block=32, args=(), shared=0, cooperative=False, globals_=(), targets=(75, 80, 90, 100), debug=False, lines=False, options=()):
        self.grid, self.block, self.args = triple(grid), triple(block), list(args)
        self.shared, self.cooperative, self.globals = shared, cooperative, list(globals_)
        self.targets, self.debug, self.lines, self.options = targets, debug, lines, options


def triple(x):
    x = list(x) if isinstance(x, (tuple, list)) else [x]
    return x + [1] * (3 - len(x))


class Buffer:
    def __init__(self, init, want, check):
        self.init, self.want, self.check = init, want, check


def inp(data):
    """An input that stays as it is."""
    return Buffer(np.ascontiguousarray(data), None, {"mode": "exact"})


def out(want, tol=None, mode="exact"):
    """An output; the kernel finds bytes of 0xCC there."""
    want = np.ascontiguousarray(want)
    return Buffer(np.full(want.nbytes, 0xCC, np.uint8), want, check(want, tol, mode))


def inout(init, want, tol=None, mode="exact"):
    want = np.ascontiguousarray(want)
    return Buffer(np.ascontiguousarray(init), want, check(want, tol, mode))


def check(want, tol, mode):
    if tol is None:
        return {"mode": mode}
    absolute, relative = tol
    return {"mode": "tol", "abs": [absolute], "rel": [relative]}


def scalar(ty, value):
    form = {"i32": "<i4", "u32": "<u4", "i64": "<i8", "u64": "<u8", "f32": "<f4", "f64": "<f8", "i16": "<i2", "u8": "<u1", "i8": "<i1"}[ty]
    raw = np.array([value], form).tobytes()
    return {"kind": "scalar", "type": ty, "value": value, "hex": raw.hex()}


def i32(x):
    return scalar("i32", int(x))


def u32(x):
    return scalar("u32", int(x))


def u64(x):
    return scalar("u64", int(x))


def f32(x):
    return scalar("f32", float(x))


def f64(x):
    return scalar("f64", float(x))


def struct(align, *parts):
    raw = b"".join(np.asarray(part).tobytes() for part in parts)
    return {"kind": "struct", "size": len(raw), "align": align, "hex": raw.hex(), "pointers": []}


DTYPES = {"<f4": "f32", "<f8": "f64", "<f2": "f16", "|u1": "u8", "|i1": "i8", "<u2": "u16", "<i2": "i16", "<u4": "u32", "<i4": "i32", "<u8": "u64", "<i8": "i64"}


def write(name, case):
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    buffers, args, reads = {}, [], []

    def put(file, data):
        with open(os.path.join(folder, file), "wb") as f:
            f.write(data.tobytes())
        return file

    for at, arg in enumerate(case.args):
        if not isinstance(arg, Buffer):
            args.append(arg)
            continue
        label = "abcdefghijklmnopqrst"[at]
        shape = arg.want if arg.want is not None else arg.init
        entry = {"dtype": DTYPES[shape.dtype.str], "count": int(shape.size), "bytes": int(shape.nbytes)}
        if arg.want is not None and arg.init.dtype == np.uint8 and arg.init.size and (arg.init == 0xCC).all():
            entry["init"] = {"fill": 0xCC}
        elif not arg.init.view(np.uint8).any():
            entry["init"] = {"fill": 0}
        else:
            entry["init"] = {"file": put(f"{label}.bin", arg.init)}
        if arg.want is None:
            entry["expect"] = "unchanged"
        else:
            entry["expect"] = put(f"{label}.want.bin", arg.want)
            reads.append(label)
        entry["check"] = arg.check
        buffers[label] = entry
        args.append({"kind": "ptr", "buffer": label})
    for symbol, data in case.globals:
        data = np.ascontiguousarray(data)
        put(f"{symbol}.bin", data)
    with open(os.path.join(HERE, f"{name}.cu")) as f:
        source = f.read()
    variants = []

    def compile_to(file, sm, *options):
        with open(os.path.join(folder, file), "w") as f:
            f.write(compile_ptx(source, sm, (*case.options, *options), f"{name}.cu"))
        variants.append(file)

    for sm in case.targets:
        compile_to(f"sm_{sm}.ptx", sm)
    if case.debug:
        for sm in case.debug if isinstance(case.debug, tuple) else case.targets[-2:]:
            compile_to(f"sm_{sm}.debug.ptx", sm, "-G")
    if case.lines:
        compile_to(f"sm_{case.targets[0]}.lines.ptx", case.targets[0], "-lineinfo")
    launch = {"kernel": "k", "grid": case.grid, "block": case.block, "dynamic_smem": case.shared, "args": args}
    script = {
        "ptx": variants[0],
        "variants": variants,
        "target": f"sm_{case.targets[0]}",
        "buffers": buffers,
        "globals": [{"symbol": s, "file": f"{s}.bin", "bytes": int(np.asarray(d).nbytes)} for s, d in case.globals],
        "launches": [launch],
        "host_reads": reads,
        "co_resident": case.cooperative,
    }
    with open(os.path.join(folder, f"{name}.json"), "w") as f:
        json.dump(script, f, indent=1)
        f.write("\n")


def find(patterns):
    roots = site.getsitepackages() + [site.getusersitepackages()]
    found = (path for root in roots for pattern in patterns for path in glob.glob(os.path.join(root, "nvidia", pattern)))
    return next(found, None)


def compile_ptx(source, sm, options, name):
    library = find(["cu13/lib/libnvrtc.so.*", "cuda_nvrtc/lib/libnvrtc.so.*"])
    folders = [find(["cu13/include", "cuda_runtime/include"]), find(["cu13/include/cccl", "cuda_cccl/include"])]
    nvrtc = ctypes.CDLL(library)
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), name.encode(), 0, None, None)
    flags = [f"--gpu-architecture=compute_{sm}", "-std=c++17", *(f"-I{folder}" for folder in folders if folder), *options]
    flags = [flag.encode() for flag in flags]

    def text(size_of, get):
        getattr(nvrtc, size_of)(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(nvrtc, get)(program, buffer)
        return buffer.value.decode()

    if nvrtc.nvrtcCompileProgram(program, len(flags), (ctypes.c_char_p * len(flags))(*flags)):
        raise SystemExit(f"{name} for sm_{sm}:\n" + text("nvrtcGetProgramLogSize", "nvrtcGetProgramLog"))
    ptx = text("nvrtcGetPTXSize", "nvrtcGetPTX")
    # Line information names headers, wherever they are installed.
    for folder in filter(None, folders):
        ptx = ptx.replace(folder, "/cuda/include")
    return ptx


def programs():
    found = {}
    for path in sorted(glob.glob(os.path.join(HERE, "reference", "*.py"))):
        module = importlib.import_module("reference." + os.path.basename(path)[:-3])
        for name, value in vars(module).items():
            if callable(value) and getattr(value, "__module__", "") == module.__name__ and not name.startswith("_"):
                found[name] = value
    return found


def main():
    sys.modules["generate"] = sys.modules["__main__"]
    wanted, known = sys.argv[1:], programs()
    # Line information names the folder of the compilation.
    os.chdir("/")
    for name, make in known.items():
        if not wanted or name in wanted:
            write(name, make(np.random.default_rng(7)))
    sources = {os.path.basename(path)[:-3] for path in glob.glob(os.path.join(HERE, "*.cu"))}
    if sources != set(known):
        raise SystemExit(f"without source or reference: {sorted(sources ^ set(known))}")


if __name__ == "__main__":
    main()
