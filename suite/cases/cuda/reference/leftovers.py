"""Instructions that C++ has no name for."""
import numpy as np
from generate import Case, i32, inout, inp, out, struct
from reference.arith import M32, M64, _clamped, _floats, _round, _s32, _s64
from fractions import Fraction


def asm_integers(r):
    n = 64
    x = r.integers(0, 2**32, n).astype(np.uint32)
    x[:12] = [0, 1, 0x80000000, 0xFFFFFFFF, 0x7FFFFFFF, 33, 0x12345678, 0xFF00FF00, 100, 0xFFFFFF80, 5, 5]
    o, l = np.zeros((n, 48), np.uint32), np.zeros((n, 5), np.uint64)
    s16 = lambda v: ((v & 0xFFFF) ^ 0x8000) - 0x8000
    s8 = lambda v: ((v & 0xFF) ^ 0x80) - 0x80
    low24 = lambda v: (v & 0xFFFFFF) - (2**24 if v >> 23 & 1 else 0)

    def bfe(v, at, size, width, signed):
        if size == 0:
            return 0
        wide = (_s32(v) if width == 32 else _s64(v)) if signed else v
        top = min(at + size - 1, width - 1)
        field = wide >> at & (1 << size) - 1
        return field | -(wide >> top & 1) << size if signed and size < width else field

    def perm(a, b, picks):
        both = b << 32 | a
        return sum((both >> 8 * p & 255) << 8 * j for j, p in enumerate(picks))

    for i in range(n):
        a, b, c = (int(x[(i + j) % n]) for j in range(3))
        sa, sb, sc, w = _s32(a), _s32(b), _s32(c), a << 32 | b
        at, size, m = b & 63, c & 63, c & 3
        found = lambda v: v.bit_length() - 1 if v else -1
        dp4 = lambda fa, fb: sum(fa(a >> 8 * j) * fb(b >> 8 * j) for j in range(4)) + sc
        dp2 = lambda fa, fb, h: sum(fa(a >> 16 * j) * fb(b >> 8 * (j + h)) for j in range(2)) + sc
        u8, u16 = (lambda v: v & 255), (lambda v: v & 0xFFFF)
        k = min(size, 32)
        v = [bfe(a, at, size, 32, False), bfe(a, at, size, 32, True)]
        mask = ((1 << (b & 31)) - 1) << (c & 31)
        v += [b & ~mask | a << (c & 31) & mask, found(a), found(a ^ M32 if sa < 0 else a), ((1 << min(size, 32)) - 1) << min(at, 32), int(a == 0)]
        v += [a & (1 << k) - 1, 0 if c & 31 == 0 else _s32(a << 32 - (c & 31)) >> 32 - (c & 31)]
        v += [dp4(s8, s8), dp4(s8, u8), dp4(u8, s8), dp4(u8, u8), dp2(s16, s8, 2), dp2(s16, u8, 2), dp2(s16, s8, 0), dp2(u16, u8, 0)]
        v += [perm(a, b, p) for p in ([m, m + 1, m + 2, m + 3], [m, m - 1 & 7, m - 2 & 7, m - 3 & 7], [m] * 4, [max(j, m) for j in range(4)], [min(j, m) for j in range(4)], [2 * (m & 1), 2 * (m & 1) + 1] * 2)]
        clamp32 = lambda y: _clamped(y, -2**31, 2**31 - 1)
        high = sa * sb >> 32
        v += [clamp32(sa + sb), clamp32(sa - sb), clamp32(high + sc), high + sc, a * b + c, low24(a) * low24(b) + sc, low24(a) * low24(b) >> 16]
        v += [a if sc >= 0 else b, b if c >> 31 and (c & 0xBFFFFFFF) != 0x80000000 else a, a ^ b ^ c]
        t16, t8 = (lambda y: _clamped(_s32(y), -32768, 32767) & 0xFFFF), (lambda y: _clamped(_s32(y), 0, 255))
        v += [t16(a) << 16 | t16(b), t8(b) | t8(a) << 8 | c << 16, _clamped(sa, -128, 127), t8(a), clamp32(_s64(w))]
        both = a & b & c
        v += [both + int(both != 0 or b == 0)]
        A, B, C = s16(a), s16(b), s16(c)
        D, A2, C2 = s16(A * B + C), A * B >> 16, C >> 3
        B2 = min(B, C2)
        A3 = max(A2 & 0xFFFF, B2 & 0xFFFF)
        D2 = s16(D + A3)
        v += [s16(A3) * C2 + D2 * B2, _clamped(_s64(w), 0, 65535), M32 if sa < sb else 0, a]
        q = b < c
        p = a == b or q
        q = sb >= sc and p
        p = a > c and q
        v += [2 * q + p, (a + b & 0xFFFF) | ((a >> 16) + (b >> 16) & 0xFFFF) << 16, max(s16(a), s16(b)) & 0xFFFF | (max(s16(a >> 16), s16(b >> 16)) & 0xFFFF) << 16, a + b, 7 if a & 3 == b & 3 else 9]
        o[i] = [y & M32 for y in v]
        mask = ((1 << (c & 31)) - 1) << (b & 31)
        l[i] = [y & M64 for y in [bfe(w, at, size, 64, False), ~w & ~mask | w << (b & 31) & mask, sa * sb + w, a * b + w, w * w + ~w]]
    return Case(2, 32, [out(o), out(l), inp(x), i32(n)])


NAN = np.uint32(0x7FFFFFFF).view(np.float32)


def asm_floats(r):
    n = 64
    x, y = _floats(r, n, np.float32, 3), _floats(r, n, np.float64, 6)
    x[16:26] = [1e-40, -1e-40, 2e-38, np.nan, np.inf, -np.inf, 0.75, -1e-45, 1.1754944e-38, 3e-39]
    F = np.float32
    flush = lambda v: np.where(abs(v) < F(1.1754944e-38), np.copysign(F(0), v), v).astype(F)
    f, o, d = np.zeros((n, 16), F), np.zeros((n, 16), np.int64), np.zeros((n, 4))
    a, b, c = x, np.roll(x, -1), np.roll(x, -2)
    u, v = y, np.roll(y, -1)
    with np.errstate(all="ignore"):
        sat = lambda v: np.clip(np.nan_to_num(v, nan=0.0), 0, 1)
        fa, fb, fc = flush(a), flush(b), flush(c)
        fma = lambda a, b, c: (a.astype(np.longdouble) * b.astype(np.longdouble) + c.astype(np.longdouble)).astype(F)
        zero = lambda v: np.where(v == 0, F(0), v)
        up = np.array([F(0) if t == 0 else _round(Fraction(float(t)), F, "ru") for t in u], F)
        f[:, :13] = np.stack([zero(sat(a + b)), zero(sat(fma(a, b, c))), np.copysign(b, a), flush(fa + fb), flush(fa - fb), flush(fa * fb), flush(fma(fa, fb, fc)), abs(fa), np.fmax(fa, fb), zero(sat(up)), a * c, a, np.fmin(a, b)], 1)
        f[:, 13:] = np.stack([np.maximum(a, b), np.minimum(a, b), np.minimum(fa, fb)], 1)
        sub = (abs(a) < F(1.1754944e-38)) & (a != 0)
        e = np.nan_to_num(np.clip(a, -100, 100), nan=-100.0)
        sat_u = [0 if not t > 0 else _clamped(int(np.rint(t)) if np.isfinite(t) else 2**32, 0, 2**32 - 1) for t in a.astype(np.float64)]
        i = np.arange(n)
        h = (i * 997 & 0xFFFF).astype(np.float64)
        half = h.astype(np.float16)
        half = np.where(half.astype(np.float64) < h, np.nextafter(half, np.float16(np.inf)), half)
        flags = ((fa == fb) | np.isnan(a) | np.isnan(b)) + 2 * (fa > fb) + 4 * (fa == 0)
        cols = [np.isfinite(a), np.isinf(a), ~np.isnan(a), np.isnan(a), np.isfinite(a) & ~sub, sub, np.floor(e), np.rint(e), sat_u, np.ceil(abs(e)), np.trunc(flush(e)), np.trunc(abs(e)), half.view(np.uint16), flags, 12 + 0 * i, 0 * i]
        o[:] = np.stack([np.asarray(t).astype(np.int64) for t in cols], 1)
        d[:] = np.stack([np.copysign(v, u), np.maximum(u, v), np.minimum(u, v), 1 / u], 1)
    o = (o & M32).astype(np.uint32).view(np.int32)
    from generate import Buffer
    args = [out(f, mode="value"), out(o), out(d, tol=(0, 1e-5)), inp(x), inp(y), i32(n)]
    return Case(2, 32, args)


def approximate(r):
    n = 256
    x = np.concatenate([np.linspace(-3.1, 3.1, 250), [0, 1, -1, 2, 0.5, 1e-3]]).astype(np.float32)
    a = x.astype(np.float64)
    p = abs(a) + np.float64(np.float32(0.01))
    cols = [np.sin(a), np.cos(a), np.exp(a), np.log(p), a / p, 1 / np.sqrt(p), p**1.5, 2**a, np.log2(p), 10 ** (a * 0.5), np.tanh(a), np.sqrt(p), 1 / p, a / p]
    h = np.stack([2.0 ** x.astype(np.float16).astype(np.float64), 2.0 ** -x.astype(np.float16).astype(np.float64)], 1)
    return Case(8, 32, [out(np.stack(cols, 1).astype(np.float32), tol=(2e-6, 6e-4)), out(h.astype(np.float16), tol=(1e-4, 2e-3)), inp(x), i32(n)])


def comparisons(r):
    n = 60
    x = r.integers(-3, 4, n).astype(np.float32)
    x[::7], x[3], x[5], x[9] = np.nan, np.inf, -np.inf, -0.0
    y = x[::-1].astype(np.float64).copy()
    z = r.integers(-3, 4, n).astype(np.int64)
    z[:4] = [2**62, -2**62, 2**32, -1]
    o = np.zeros((n, 6), np.int32)
    f, d = np.zeros(n, np.float32), np.zeros(n)

    def every(a, b):
        flags = [a < b, a <= b, a > b, a >= b, a == b, a != b, not a < b, not a <= b, not a > b, not a >= b]
        return sum(int(v) << k for k, v in enumerate(flags))

    def setp(a, b):
        nan = bool(np.isnan(a) or np.isnan(b))
        flags = [a == b, a < b, a <= b, a > b, a >= b, nan or a != b, nan or a < b, nan or a <= b, nan or a > b, nan or a >= b, nan, not nan]
        return int("".join("1" if v else "0" for v in flags), 2)

    pick = lambda a, b: a if not a < b else b - a if not a > b + 1 else a + b
    with np.errstate(all="ignore"):
        for i in range(n):
            j = (i * 5 + 1) % n
            o[i] = [every(x[i], x[j]), every(y[i], y[j]), every(z[i], z[j]), every(z[i].astype(np.uint64), z[j].astype(np.uint64)), setp(x[i], x[j]), setp(y[i], y[j])]
            f[i] = pick(x[i], x[j])
            d[i] = pick(y[i], y[j]) - (y[i] if z[i] < z[j] else -y[j])
    return Case(2, 32, [out(o), out(f, mode="value"), out(d, mode="value"), inp(x), inp(y), inp(z), i32(n)])


def leftovers(r):
    n, sel = 32, 4
    i = np.arange(n)
    s, u = r.integers(-30000, 30000, n).astype(np.int16), r.integers(0, 60000, (n, 2)).astype(np.uint16)
    d, l, w = r.integers(-50, 50, (n, 2)).astype(np.float64), r.integers(0, 2**40, (n, 2)).astype(np.uint64), r.integers(-999, 999, (n, 4)).astype(np.int32)
    words = np.array([1, 2, 3, 60000, 5, 6, 7, 8])
    U, W = u.astype(np.int64), w.astype(np.int64)
    o = np.zeros((n, 16), np.int64)
    o[:, 0], o[:, 1], o[:, 2] = s, U[:, 0] + 3 * U[:, 1], U[:, 0] ^ U[:, 1]
    o[:, 3] = d[:, 0] + d[:, 1] + d[:, 0] * d[:, 1]
    o[:, 4] = (l[:, 0] * np.uint64(2) + l[:, 1] * np.uint64(2)).astype(np.int64)
    o[:, 5] = W[:, 0] - W[:, 1] + W[:, 2] * W[:, 3]
    o[:, 6], o[:, 7] = u[:, 0].view(np.int16) if False else u[:, 0].astype(np.int16), U[:, 1] & 255
    o[:, 8], o[:, 9] = W[:, 0] + i, 3 + i + 7
    o[:, 10] = i + 5
    o[:, 11] = 60000 + 1 + words[i & 7]
    o[:, 12] = np.array([10, 20, 30])[(i + sel) % 3]
    m, k = i + 40, i * 2
    o[:, 13] = m + k + m + m
    o[:, 14] = m + k + (m * 65537)
    o[:, 15] = np.where((i == 7) | (i == 8), 5, 6)
    h = np.stack([u[:, 0], u[:, 1], u[:, 0], i.astype(np.uint16)], 1)
    f = np.stack([i, 0 * i + 0.5], 1).astype(np.float32)
    e = np.stack([i, 0 * i + 0.25], 1)
    return Case(1, n, [out((o & M32).astype(np.uint32).view(np.int32)), inp(s), inp(u), inp(d), inp(l), inp(w), out(h), out(f), out(e), i32(sel)])


def small_forms(r):
    n = 32
    i = np.arange(n)
    f = np.stack([i * np.float32(1.5) - np.float32(2), i + np.float32(0.25)], 1).astype(np.float32)
    d = np.stack([i + 10.5, i * 0.125], 1)
    w = 0 * i - 5 + i
    s8 = ((w & 255) ^ 128) - 128
    o = np.stack([w, s8, np.where(i > 9, i * 3, 7), i >= 20, -7 + 0 * i], 1).astype(np.int64)
    return Case(1, n, [out(o), out(f), out(d), i32(-7), struct(8, np.array([1.5, 0.25], np.float32)), struct(16, np.array([10.5, 0.125]))])


def bfloat_pairs(r):
    n = 64
    from reference.matrices import _b16, _bf
    d = _bf(r.standard_normal((n, 2)) * 4).astype(np.float64)
    e = np.roll(d, -1, 0)
    o = np.stack([_bf(d + e), _bf(d - e), _bf(d * e)], 1)
    return Case(2, 32, [out(_b16(o)), inp(_b16(d.astype(np.float32))), i32(n)], targets=(90, 100))
