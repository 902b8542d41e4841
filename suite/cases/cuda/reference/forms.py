"""Forms of PTX that came late, or that nobody uses: video instructions, products of sparse and of scaled matrices."""
import numpy as np
from generate import Case, i32, inp, out


def video(r):
    n = 32
    x = r.integers(0, 2**32, n).astype(np.uint32)
    x[:12] = [0, 1, 0x80000000, 0xFFFFFFFF, 0x7FFFFFFF, 33, 0x7F80FF01, 0xFF00FF00, 0x01FF7F80, 0xFFFFFF80, 5, 5]
    s = lambda v, bits=32: ((v & (1 << bits) - 1) ^ 1 << bits - 1) - (1 << bits - 1)
    u = lambda v, bits=32: v & (1 << bits) - 1
    clamp = lambda v, signed, bits=32: min(max(v, -(1 << bits - 1) if signed else 0), (1 << bits - signed) - 1)
    o = np.zeros((n, 42), np.uint32)
    for i in range(n):
        a, b, c = (int(x[(i + j) % n]) for j in range(3))

        def parts(count, fa, fb):
            bits = 32 // count
            return [(fa(a >> bits * j, bits), fb(b >> bits * j, bits)) for j in range(count)]

        def joined(values):
            bits = 32 // len(values)
            return sum(u(v, bits) << bits * j for j, v in enumerate(values))

        average = lambda v: v + (v >= 0) >> 1
        m = b & 63
        v = [s(a) + s(b), clamp(a + s(b), True), max(s(a) + s(b), s(c)), clamp(a + b, False) + c]
        v += [clamp(a - b, False), min(a - b, s(c)), abs(s(a) - s(b)), clamp(abs(a - s(b)), True) + c]
        v += [min(s(a), b), max(a, s(b)) + c, a << min(m, 32), clamp(s(a) << (b & 31), True), s(a) >> min(m, 32), (a >> (b & 31)) + c]
        v += [s(a) * b + s(c), clamp(a * b + c, False), clamp((a & 0xFFFFF) * s(b) + s(c), True)]
        v += [int(a < s(b)), int(s(a) >= s(b)) + c, max(int(a != b), c & 1)]
        v += [joined([clamp(p + q, True, 16) for p, q in parts(2, s, s)]), joined([p - q for p, q in parts(2, u, u)])]
        v += [joined([average(p + q) for p, q in parts(2, s, s)]), sum(abs(p - q) for p, q in parts(2, s, s)) + c]
        v += [joined([min(p, q) for p, q in parts(2, s, u)]), sum(max(p, q) for p, q in parts(2, u, u)) + c]
        v += [joined([int(p <= q) for p, q in parts(2, s, s)]), joined([p + q for p, q in parts(4, u, u)])]
        v += [joined([clamp(p + q, False, 8) for p, q in parts(4, s, u)]), sum(p + q for p, q in parts(4, u, u)) + c]
        v += [joined([clamp(p - q, True, 8) for p, q in parts(4, u, u)]), joined([average(p + q) for p, q in parts(4, u, u)])]
        v += [sum(abs(p - q) for p, q in parts(4, u, u)) + c, joined([min(p, q) for p, q in parts(4, u, u)])]
        v += [sum(max(p, q) for p, q in parts(4, s, s)) + c, sum(p > q for p, q in parts(4, u, u)) + c]
        v += [abs(s(a) - s(b)) + c, joined([abs(p - q) for p, q in parts(4, u, u)]), clamp(s(a) + s(b), True)]
        v += [s(a) * s(b) + s(c), max(s(a), s(b)), a - b]
        o[i] = [u(w) for w in v]
    return Case(1, n, [out(o), inp(x), i32(n)])


def _bytes(values, kind):
    """The bytes of a matrix of numbers, row by row."""
    if kind == "f16":
        return values.astype(np.float16).view(np.uint8)
    if kind in ("bf16", "tf32"):
        wide = values.astype(np.float32)
        return wide.view(np.uint8) if kind == "tf32" else np.ascontiguousarray(wide.view(np.uint16)[:, 1::2]).view(np.uint8)
    if kind in ("s4", "u4", "e2m1x2"):
        codes = _codes(values, "e2m1") if kind == "e2m1x2" else values.astype(np.int64) & 15
        return (codes[:, 0::2] | codes[:, 1::2] << 4).astype(np.uint8)
    if kind in ("s8", "u8"):
        return (values.astype(np.int64) & 255).astype(np.uint8)
    return _codes(values, kind).astype(np.uint8)


def _numbers(kind):
    """What the codes of a small float stand for."""
    exponents, fractions, bias = {"e4m3": (4, 3, 7), "e5m2": (5, 2, 15), "e3m2": (3, 2, 3), "e2m3": (2, 3, 1), "e2m1": (2, 1, 1)}[kind]
    codes = np.arange(1 << exponents + fractions)
    e, f = codes >> fractions, codes & (1 << fractions) - 1
    size = np.where(e == 0, 2 * f / 2**fractions, (1 + f / 2**fractions) * 2.0**e) / 2.0**bias
    return np.concatenate([size, -size])


def _codes(values, kind):
    table = {x: code for code, x in reversed(list(enumerate(_numbers(kind))))}
    codes = np.vectorize(lambda x: table[float(x)])(values).astype(np.int64)
    return codes


def sparse_products(r):
    cases = [
        ("f16", "f16", 32, 4), ("f16", "f16", 16, 2), ("bf16", "bf16", 32, 4), ("bf16", "bf16", 16, 2), ("tf32", "tf32", 16, 4), ("tf32", "tf32", 8, 2),
        ("e4m3", "e5m2", 64, 4), ("s8", "u8", 64, 4), ("u8", "s8", 32, 2), ("s4", "u4", 128, 4), ("u4", "s4", 64, 2),
    ]
    limits = {"s8": (-128, 128), "u8": (0, 256), "s4": (-8, 8), "u4": (0, 16)}
    rows, columns, which, products = [], [], [], []
    for left, right, depth, count in cases:
        draw = lambda kind, shape: r.integers(*limits[kind], shape) if kind in limits else r.integers(-8, 9, shape) / 4
        a, b = draw(left, (16, depth)), draw(right, (depth, 8))
        # Units are pairs of 4-bit integers and halves of tf32; two of four are there.
        each = {"s4": 2, "u4": 2}.get(left, 1)
        chunk = 2 if left == "tf32" else 4 * each
        bits, stored = np.zeros(16, np.uint64), np.zeros((16, depth // 2), a.dtype)
        for row in range(16):
            kept = []
            for at in range(0, depth, chunk):
                picked = sorted(r.choice(chunk // each, 1 if left == "tf32" else 2, replace=False))
                places = [2 * picked[0], 2 * picked[0] + 1] if left == "tf32" else picked
                for place in places:
                    kept.append(int(place))
                inside = {at + p * each + j for p in picked for j in range(each)}
                for k in range(at, at + chunk):
                    if k not in inside:
                        a[row, k] = 0
                stored[row, at // 2 : (at + chunk) // 2] = a[row, sorted(inside)]
            bits[row] = sum(place << 2 * j for j, place in enumerate(kept))
        pad = lambda m, size: np.pad(m, ((0, 0), (0, size - m.shape[1])))
        rows.append(pad(_bytes(stored, left), 32))
        columns.append(pad(_bytes(np.ascontiguousarray(b.T), right), 64))
        which.append(bits)
        products.append(a.astype(np.float64) @ b)
    half = (np.arange(16) // 8)[:, None]
    c = np.array([1, 2] * 4) + 2 * half
    floats = np.cumsum([c + products[0], *products[1:7]], axis=0)
    ints, total = [], c.astype(np.int64)
    for product in products[7:]:
        total = total + product.astype(np.int64)
        ints.append(total)
    big = np.array([-2147483640, 2147483640] * 4) + np.zeros((16, 1), np.int64)
    ints.append(np.clip(big + products[8].astype(np.int64), -2**31, 2**31 - 1))
    halves = (1 + half + products[0]).astype(np.float16).astype(np.float64) + products[1]
    word = lambda m, ty: inp(np.ascontiguousarray(np.stack(m)).view(ty))
    args = [out(floats.astype(np.float32), mode="value"), out(np.stack(ints).astype(np.int32)), out(halves.astype(np.float16).view(np.uint16))]
    return Case(1, 32, [*args, word(rows, np.uint32), word(columns, np.uint32), word(which, np.uint64)], targets=(90, 100))


def scaled_products(r):
    cases = [
        ("e4m3", "e2m1", 32, 0, None), ("e3m2", "e2m3", 32, 0, None), ("e5m2", "e3m2", 32, 1, "ue8m0"), ("e2m1", "e4m3", 32, 1, "ue8m0"),
        ("e2m1", "e2m1", 64, 2, "ue8m0"), ("e2m1", "e2m1", 64, 4, "ue4m3"), ("e2m1", "e2m1", 64, 2, "ue8m0"),
    ]
    rows, columns, by_row, by_column, products = [], [], [], [], []
    c = np.array([1, 2] * 4) + 2 * (np.arange(16) // 8)[:, None]
    for left, right, depth, count, kind in cases:
        small = lambda name: [x for x in _numbers(name) if 0.25 <= abs(x) <= 6]
        a, b = r.choice(small(left), (16, depth)), r.choice(small(right), (depth, 8))

        def packed(m, name):
            if depth == 64:
                return _bytes(m, "e2m1x2")
            return (_codes(m, name) << (2 if name == "e2m1" else 0)).astype(np.uint8)

        rows.append(packed(a, left))
        columns.append(packed(np.ascontiguousarray(b.T), right))
        scaled = []
        for m, lines, put in ((a, 16, by_row), (b.T, 8, by_column)):
            if kind == "ue4m3":
                codes = r.integers(0x30, 0x40, (lines, count))
                scales = _numbers("e4m3")[codes]
            else:
                codes = r.integers(125, 130, (lines, max(count, 1)))
                scales = 2.0 ** (codes - 127) if kind else np.ones((lines, 1))
            put.append(sum(codes[:, j].astype(np.uint32) << np.uint32(8 * j) for j in range(codes.shape[1])))
            scaled.append(m * np.repeat(scales, depth // scales.shape[1], axis=1))
        products.append(c + scaled[0] @ scaled[1].T)
    word = lambda m: inp(np.ascontiguousarray(np.stack(m)).view(np.uint32))
    want = out(np.stack(products).astype(np.float32), mode="value")
    return Case(1, 32, [want, word(rows), word(columns), word(by_row), word(by_column)], targets=("120a",))
