"""What cards have since Hopper: clusters, bulk copies, products of warp groups."""
import numpy as np

from generate import Case, i32, inout, inp, out


def cluster_histogram(r):
    n, blocks, threads = 3001, 8, 64
    x = r.integers(0, 1 << 32, n, dtype=np.uint32)
    cluster = np.arange(n) % (blocks * threads) // threads // 4
    want = np.stack([np.bincount(x[cluster == c] % 256, minlength=256) for c in range(blocks // 4)])
    return Case(blocks, threads, [out(want.astype(np.int32)), inp(x), i32(n)], targets=(90, 100))


def bulk_tiles(r):
    blocks, tiles = 3, 5
    x = r.integers(-50, 50, (blocks, tiles, 256)).astype(np.float32)
    start = r.integers(-9, 9, 256).astype(np.float32)
    want = start + sum(np.roll(x[b, i], -i) for b in range(blocks) for i in range(tiles))
    return Case(blocks, 256, [inout(start, want.astype(np.float32)), inp(x), i32(tiles)], targets=(90, 100))


def warp_group(r):
    a, b = ((r.integers(-8, 8, (64, 64)) / 4).astype(np.float16) for _ in range(2))
    want = a.astype(np.float64) @ b.astype(np.float64).T
    words = [inp(np.ascontiguousarray(m).view(np.uint32)) for m in (a, b)]
    return Case(1, 128, [out(want.astype(np.float32)), *words], targets=("90a",))
