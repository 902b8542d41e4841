#!/usr/bin/env python3
"""Writes NAME.ptx beside each NAME.cu here, by NVRTC with line information.

    generate.py [NAME...]        run by `cargo xtask cuda`
"""
import glob, os, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cuda"))
from generate import compile_ptx

def main():
    # Line information names the folder of the compilation.
    os.chdir("/")
    for path in sorted(glob.glob(os.path.join(HERE, "*.cu"))):
        name = os.path.basename(path)[:-3]
        if not sys.argv[1:] or name in sys.argv[1:]:
            with open(path) as f:
                ptx = compile_ptx(f.read(), 80, ("-lineinfo",), f"{name}.cu")
            with open(os.path.join(HERE, f"{name}.ptx"), "w") as f:
                f.write(ptx)


if __name__ == "__main__":
    main()
