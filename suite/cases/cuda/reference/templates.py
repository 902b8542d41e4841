"""Programs of template libraries."""
import numpy as np
from generate import Case, inout, inp, out


def cub_blocks(r):
    x = r.integers(-1000, 1000, 512).astype(np.int32)
    scan = np.concatenate([[0], np.cumsum(x)[:-1]]).astype(np.int32)
    merged = np.sort(x.reshape(4, 128), 1).reshape(-1)
    hist = np.bincount(x & 63, minlength=64).astype(np.uint32)
    return Case(1, 128, [inout(x, np.sort(x)), out(scan), out(np.array([x.sum()], np.int32)), out(merged), out(hist)])


def cooperative(r):
    x = r.integers(0, 9, 64).astype(np.int32)
    o = x.reshape(8, 8).sum(1).repeat(8).astype(np.int32)
    p = np.cumsum(x.reshape(2, 32), 1).astype(np.int32).reshape(-1)
    q = np.zeros(64, np.int32)
    for i in range(64):
        w = x[i // 32 * 32:][:32]
        odd = np.flatnonzero(w & 1)
        q[i] = len(odd) * 100 + int((odd < i % 32).sum()) if x[i] & 1 else int((w == x[i]).sum())
    return Case(1, 64, [out(o), out(p), out(q), inp(x)], debug=(90,))


def standard_library(r):
    x = r.integers(-100, 100, 128).astype(np.int32)
    i = np.arange(128)
    o = x.sum() + 1 + (i & 3) + x[i * 7 & 127]
    z = (i * 0.25 + 1j) ** 2 / (2 + 1j)
    return Case(1, 128, [out(o.astype(np.int32)), out(np.stack([z.real, z.imag], 1).astype(np.float32), tol=(1e-6, 1e-6)), inp(x)])
