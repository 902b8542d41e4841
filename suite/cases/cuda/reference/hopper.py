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


def tensor_memory(r):
    a, b = ((r.integers(-8, 8, (rows, 64)) / 4).astype(np.float16) for rows in (128, 64))
    want = a.astype(np.float64) @ b.astype(np.float64).T
    # Bytes of e4m3 and e5m2 that stand for small numbers, and powers of two for each row and column.
    x, y = (r.choice(codes, (rows, 32)).astype(np.uint8) for codes, rows in (([0x30, 0x38, 0x3C, 0xB8, 0xC2, 0], 128), ([0x38, 0x3C, 0x3E, 0xBC, 0xC1, 0], 64)))
    e4m3 = {0x30: 0.5, 0x38: 1.0, 0x3C: 1.5, 0xB8: -1.0, 0xC2: -2.5, 0: 0.0}
    e5m2 = {0x38: 0.5, 0x3C: 1.0, 0x3E: 1.5, 0xBC: -1.0, 0xC1: -2.5, 0: 0.0}
    by_row, by_column = (r.integers(124, 131, rows) for rows in (128, 64))
    numbers = [np.vectorize(table.get)(codes) for table, codes in ((e4m3, x), (e5m2, y))]
    scaled = numbers[0] @ numbers[1].T * 2.0 ** (by_row - 127)[:, None] * 2.0 ** (by_column - 127)
    # Of 32 lanes, in each the four words of 16 bytes: those of row `lane`, `lane + 32` and so on.
    scales = np.zeros((2, 32, 4), np.uint32)
    scales[0], scales[1, :, :2] = by_row.reshape(4, 32).T, by_column.reshape(2, 32).T
    words = [inp(np.ascontiguousarray(m).view(np.uint32)) for m in (a, b, x, y)]
    return Case(1, 128, [out(want.astype(np.float32)), out(scaled.astype(np.float32)), *words, inp(scales)], targets=("100a",))
