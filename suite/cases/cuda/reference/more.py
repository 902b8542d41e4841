"""Functions of the mathematical library, and further programs."""
import math
import numpy as np
from generate import Case, f32, i32, inout, inp, out
from reference.arith import M32, _floats


def _each(f, *columns):
    return np.array([f(*(float(v) for v in row)) for row in zip(*columns)])


def math_single(r):
    x = np.concatenate([np.linspace(-6, 6, 120), [0, 1, -1, 0.5]]).astype(np.float32)
    a = x.astype(np.float64)
    p = abs(a) + 0.125
    cols = [np.sin(a), np.cos(a), np.tan(a * 0.25), np.exp(a), np.log(p), p**a, np.tanh(a), np.arctan(a), np.arcsin((x * np.float32(0.1)).astype(np.float64)), _each(math.erf, a), np.cbrt(a), np.hypot(a, 2), np.expm1(a), np.log1p(p), np.sinh(a), np.arctan2(a, 0.5), _each(math.lgamma, p), _each(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)), a)]
    return Case(4, 32, [out(np.stack(cols, 1).astype(np.float32), tol=(5e-7, 2e-6)), inp(x), i32(len(x))])


def math_double(r):
    x = np.concatenate([np.linspace(-6, 6, 60), [0, 1, -1, 0.5]])
    p = abs(x) + 0.125
    cols = [np.sin(x), np.cos(x), np.tan(x * 0.25), np.exp(x), np.log(p), p**x, np.tanh(x), np.arctan(x), _each(math.erf, x), np.cbrt(x), np.hypot(x, 2), 1 / np.sqrt(p), np.arcsin(x * 0.1), np.log10(p), _each(math.gamma, p)]
    return Case(2, 32, [out(np.stack(cols, 1), tol=(2e-15, 4e-15)), inp(x), i32(len(x))], debug=True)


def math_parts(r):
    n = 64
    x, y = _floats(r, n, np.float32, 6), _floats(r, n, np.float64, 9)
    x[np.roll(x, 0) == 0] = 0.5
    y[y == 0] = -0.75
    x[20:22] = [np.inf, -np.inf]
    i = np.arange(n)
    a, b, u, v = x, np.roll(x, -1), y, np.roll(y, -1)
    F = np.float32
    away = lambda t: np.trunc(t + np.copysign(0.5, t)) if np.isfinite(t) else t
    with np.errstate(all="ignore"):
        rem = np.array([F(np.nan) if math.isinf(s) else F(math.remainder(s, t)) for s, t in zip(a.astype(float), b.astype(float))], F)
        m, e = np.frexp(a)
        g, h = np.frexp(u)
        f = np.stack([np.fmod(a, b), rem, m, np.ldexp(a, i % 20 - 10), np.nextafter(a, b), np.copysign(a, b), np.fmin(a, b), np.fmax(a, b), np.where(a > b, a - b, F(0)), np.array([away(float(t)) for t in a], F), np.trunc(a), np.rint(b)], 1)
        d = np.stack([np.fmod(u, v), g, np.ldexp(u, i % 50 - 25), np.copysign(u, v), np.fmin(u, v), np.fmax(u, v), np.array([away(t) for t in u]), -u], 1)
    bits = u.view(np.uint64)
    cols = [np.where(np.isinf(a), 0, e), h, np.isnan(a), np.isinf(a), np.signbit(a), np.isfinite(u), np.signbit(v), x.view(np.int32), (bits >> np.uint64(32)).astype(np.uint32).view(np.int32), (v.view(np.uint64) & np.uint64(M32)).astype(np.uint32).view(np.int32)]
    return Case(2, 32, [out(f.astype(F), mode="value"), out(d, mode="value"), out(np.stack([c.astype(np.int32) for c in cols], 1)), inp(x), inp(y), i32(n)])


def fast_math(r):
    n = 64
    x = (r.standard_normal(n) * 3).astype(np.float32)
    x[:8] = [1e-40, 0, -1e-40, 2.5, 3e-39, -0.0, 1, 4]
    a = np.where(abs(x) < np.float32(1.1754944e-38), np.float32(0), x)
    b = np.roll(a, -1)
    w, z = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(all="ignore"):
        f = np.stack([w + z, w * z, w * z + w, w / z, np.sqrt(abs(w)), np.exp(w), np.maximum(w, z) - np.minimum(w, z), np.sin(w) + np.cos(z)], 1)
    c = (a < b) + 2 * (a == 0) + 4 * (a > 0) + 8 * np.trunc(a)
    return Case(2, 32, [out(f.astype(np.float32), tol=(3e-6, 3e-6)), out(c.astype(np.int32)), inp(x), i32(n)], options=("--use_fast_math",))


def deep_calls(r):
    def mix(h, depth):
        return h if depth == 0 else mix((h * 31 + depth) & M32, depth - 1) ^ h >> 3

    o = []
    for i in range(64):
        s = sum(sum(int(d) for d in str(i * 1000 + j)) for j in range(i % 6))
        h = mix(i, i % 9) if i & 1 else mix(i + 100, 2) if i % 3 == 0 else 0
        o.append([s, h, i ^ 1])
    return Case(1, 64, [out((np.array(o, np.int64) & M32).astype(np.uint32))], debug=True, lines=True)


def function_tables(r):
    o = []
    for i in range(64):
        a = [i + j * j for j in range(6)]

        def step(x, n):
            if i % 3 == 0:
                return x / 2
            if i % 3 == 1:
                return x + n
            for _ in range(n % 4):
                x = x * 2 - 1
            return x

        if i // 3 & 1:
            for j in reversed(range(6)):
                a[j] += int(step(float(j), a[j] & 7))
        else:
            for j in range(6):
                a[j] = int(step(float(a[j]), j))
        o.append(a)
    return Case(1, 64, [out(np.array(o, np.int32))], debug=True)


def matrices_small(r):
    n = 40
    m, b = r.standard_normal((n, 4, 4)), r.standard_normal((n, 4))
    x = np.linalg.solve(m, b[..., None])[..., 0]
    return Case(2, 32, [out(np.linalg.det(m), tol=(1e-10, 1e-10)), out(x, tol=(1e-9, 1e-9)), inp(m), inp(b), i32(n)], debug=True)


def radix_sort(r):
    x = r.integers(0, 2**32, 200).astype(np.uint32)
    return Case(1, 256, [inout(x, np.sort(x)), i32(200)])


def convolution(r):
    w, h = 23, 14
    k, x = r.integers(0, 9, 25).astype(np.float32), r.integers(0, 256, (h, w)).astype(np.uint8)
    p = np.pad(x, 2, "edge").astype(np.float64)
    o = sum(k[j * 5 + i] * p[j:j + h, i:i + w] for j in range(5) for i in range(5))
    return Case((3, 4), (8, 4), [out(o.astype(np.float32), mode="value"), inp(x), i32(w), i32(h)], globals_=[("weights", k)])


def knapsack(r):
    items, room = 30, 200
    w, v = r.integers(3, 40, items).astype(np.int32), r.integers(1, 99, items).astype(np.int32)
    best = np.zeros(room + 1, np.int64)
    for a, b in zip(w, v):
        new = best.copy()
        new[a:] = np.maximum(best[a:], best[:room + 1 - a] + b)
        best = new
    return Case(1, 64, [out(best.astype(np.int32)), inp(w), inp(v), i32(items), i32(room)], shared=8 * (room + 1))


def run_lengths(r):
    n = 100
    x = np.repeat(r.integers(0, 5, 40), r.integers(1, 5, 40))[:n].astype(np.int32)
    n = len(x)
    heads = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]))
    start, length = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    start[:len(heads)], length[:len(heads)] = heads, np.diff(np.concatenate([heads, [n]]))
    blank = np.full(n, -1, np.int32)
    return Case(1, 128, [inout(blank, start), inout(blank, length), out(np.array([len(heads)], np.int32)), inp(x), i32(n)])


def clocks(r):
    block, p = (10, 3, 3), []
    for i in range(90):
        lane = i % 32
        p.append([lane, i // 32, 48, 1 << lane, (1 << lane) - 1, (2 << lane) - 1 & M32, ~((2 << lane) - 1) & M32, ~((1 << lane) - 1) & M32, 1, 0, i // 30, 32])
    return Case(1, block, [out(np.full(90, 31, np.uint32)), out(np.array(p, np.uint32))], shared=48)


def quantised(r):
    rows, words = 7, 45
    w, x = r.integers(-128, 128, (rows, words * 4)).astype(np.int8), r.integers(-128, 128, words * 4).astype(np.int8)
    s = (r.integers(1, 64, rows) / 64).astype(np.float32)
    dot = (w.astype(np.int64) @ x.astype(np.int64)).astype(np.float32) * s
    low = (w & 15).astype(np.int64).sum(1) & 0xFFFF
    return Case(2, 128, [out(np.stack([dot, low], 1).astype(np.float32)), inp(w.view(np.int32)), inp(x.view(np.int32)), inp(s), i32(words), i32(rows)])


def ring(r):
    blocks, threads, s, log, odd = 9, 32, 5, [], 0
    for b in range(blocks):
        log.append(s)
        odd += s & 1
        s = (s * 3 + b) & M32
    init = np.zeros(blocks + threads, np.uint32)
    want = np.array(log + [odd] * threads, np.uint32)
    return Case(blocks, threads, [inout(init, want), inout(np.array([5], np.uint32), np.array([s], np.uint32))], cooperative=True)


def wide_integers(r):
    n, m = 40, 2**128 - 1
    x = r.integers(0, 2**64, (n, 2), dtype=np.uint64)
    x[::3, 1] = 0
    x[:3] = [[2**64 - 1, 2**64 - 1], [1, 0], [0, 2**63]]
    signed = lambda v: v - 2**128 if v >> 127 else v
    o = []
    for i in range(n):
        a, b = (int(x[j, 1]) << 64 | int(x[j, 0]) for j in (i, (i + 1) % n))
        b |= 1
        last = signed(a) >> 3
        row = [a + b, a - b, a * b, a // b, a % b, a >> i, a << i, ~last if signed(a) < signed(b) else last]
        o.append([[v & 2**64 - 1, v >> 64 & 2**64 - 1] for v in row])
    return Case(2, 32, [out(np.array(o, np.uint64)), inp(x), i32(n)], options=("--device-int128",))


def assertions(r):
    return Case(1, 50, [out((np.arange(50) * 2).astype(np.int32)), i32(50)], debug=True)


def lambda_sums(r):
    x = r.integers(-50, 50, (5, 128)).astype(np.float32)
    f = np.stack([x.sum(1), x.max(1)], 1)
    return Case(5, 128, [out(f), out(np.stack([(x > 0).sum(1), x.argmin(1)], 1).astype(np.int32)), inp(x)], debug=True, lines=True)
