"""Arithmetic, with exact fractions where numpy does not round as asked."""
from fractions import Fraction
import numpy as np
from generate import Case, f32, i32, inout, inp, out, struct

EDGES = [0.0, -0.0, 1.0, -1.5, 3.25, 1e-30, 1e30, 0.1, -7.75, 2.5, 3.5, -2.5, 123456.789, 1e-8, 16777217.0, 0.3333333]


def _floats(r, n, form, scale=8):
    x = r.standard_normal(n) * np.exp2(r.integers(-scale, scale, n))
    x[: len(EDGES)] = EDGES
    return x.astype(form)


def _isqrt_parts(x):
    """A fraction's root times 2^200, rounded down, and whether it is exact."""
    import math
    scaled = x.numerator * x.denominator << 400
    root = math.isqrt(scaled)
    return Fraction(root, x.denominator << 200), root * root == scaled


def _round(exact, form, mode, sticky=False):
    """An exact fraction in a format; sticky says that a bit more is there. Zero is +0."""
    info = np.finfo(form)
    if exact == 0:
        return form(0)
    bits, tiny = info.nmant, int(np.log2(float(info.tiny))) if form is np.float32 else -1022
    sign, value = (-1 if exact < 0 else 1), abs(exact)
    e = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** e > value:
        e -= 1
    unit = Fraction(2) ** (max(e, tiny) - bits)
    steps = value / unit
    n, rest = int(steps), steps - int(steps)
    above = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and (sticky or n % 2))
    inexact = rest != 0 or sticky
    up = {"rn": above, "rz": False, "rd": inexact and sign < 0, "ru": inexact and sign > 0}[mode]
    value = (n + up) * unit
    if value > Fraction(float(info.max)):
        away = mode == "rn" or (mode == "rd") == (sign < 0) and mode != "rz"
        return form(sign * np.inf) if away else form(sign * info.max)
    return form(sign * float(value))


def _add(a, b, form, mode):
    s = Fraction(float(a)) + Fraction(float(b))
    if s == 0:
        same = np.signbit(a) == np.signbit(b) and a == 0
        negative = np.signbit(a) if same else mode == "rd"
        return form(-0.0 if negative else 0.0)
    return _round(s, form, mode)


def _mul(a, b, form, mode):
    p = Fraction(float(a)) * Fraction(float(b))
    return _round(p, form, mode) if p else form(np.copysign(0.0, 1.0)) * form(-1.0 if np.signbit(a) != np.signbit(b) else 1.0)


def _div(a, b, form, mode):
    negative = np.signbit(a) != np.signbit(b)
    if b == 0:
        return form(np.nan) if a == 0 else form(-np.inf if negative else np.inf)
    return _round(Fraction(float(a)) / Fraction(float(b)), form, mode) if a else form(-0.0 if negative else 0.0)


def _fma(a, b, c, form, mode):
    s = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if s:
        return _round(s, form, mode)
    negative = np.signbit(a) != np.signbit(b)
    zero = float(a) * float(b) == 0 and c == 0
    return form(-0.0 if (negative if zero and negative == np.signbit(c) else mode == "rd") else 0.0)


def _sqrt(a, form, mode):
    if a == 0:
        return a
    root, exact = _isqrt_parts(Fraction(float(a)))
    return _round(root, form, mode, not exact)


def rounding(r):
    n = 64
    x, y = _floats(r, n, np.float32), _floats(r, n, np.float64)
    f, g = np.zeros((n, 24), np.float32), np.zeros((n, 12), np.float64)
    modes = ["rn", "rz", "rd", "ru"]
    for i in range(n):
        a, b, c = x[i], x[(i + 1) % n], x[(i + 2) % n]
        d, e = y[i], y[(i + 1) % n]
        F, D = np.float32, np.float64
        f[i, :16] = [_add(a, b, F, m) for m in modes] + [_mul(a, b, F, m) for m in modes] + [_div(a, b, F, m) for m in modes] + [_fma(a, b, c, F, m) for m in modes]
        a = abs(a)
        f[i, 16:] = [_sqrt(a, F, m) for m in modes] + [_div(F(1), a, F, "rn"), _div(F(1), a, F, "rz"), _add(a, -b, F, "rn"), _add(a, -b, F, "ru")]
        g[i, :8] = [_add(d, e, D, "rn"), _add(d, e, D, "ru"), _mul(d, e, D, "rz"), _mul(d, e, D, "rn"), _div(d, e, D, "rn"), _div(d, e, D, "ru"), _fma(d, e, d, D, "rn"), _add(d, e, D, "rz")]
        d = abs(d)
        g[i, 8:] = [_sqrt(d, D, "rn"), _sqrt(d, D, "rd"), _div(D(1), d, D, "rn"), _add(d, -e, D, "rd")]
    return Case(2, 32, [out(f, mode="value"), out(g, mode="value"), inp(x), inp(y), i32(n)])


def _clamped(x, low, high):
    return int(min(max(x, low), high))


def conversions(r):
    n = 80
    x, y = _floats(r, n, np.float32, 20), _floats(r, n, np.float64, 20)
    x[6] = y[6] = 5e9
    a = r.integers(-2**31, 2**31, n).astype(np.int32)
    b = r.integers(-2**62, 2**62, n).astype(np.int64)
    a[:4], b[:4] = [0, -1, 16777217, 2**31 - 1], [0, -1, 2**40 + 1, 2**62 + 1]
    o, l = np.zeros((n, 16), np.int64), np.zeros((n, 12), object)
    f, g = np.zeros((n, 20), np.float32), np.zeros((n, 10), np.float64)
    I, U, L, W = (-2**31, 2**31 - 1), (0, 2**32 - 1), (-2**63, 2**63 - 1), (0, 2**64 - 1)
    rules = [lambda v: int(np.rint(v)), lambda v: int(np.trunc(v)), lambda v: int(np.floor(v)), lambda v: int(np.ceil(v))]
    for i in range(n):
        u, v, s, t = float(x[i]), float(y[i]), int(a[i]), int(b[i])
        o[i] = [_clamped(rule(u), *I) for rule in rules] + [_clamped(rule(u), *U) for rule in rules] + [_clamped(rules[0](v), *I), _clamped(rules[1](v), *I), _clamped(rules[2](v), *U), _clamped(rules[3](v), *U)] + [
            int(min(max(u, -3e4), 3e4)), _clamped(int(abs(u)), 0, 255), np.int64(np.int32(s).astype(np.int8)), t & 0xFFFF]
        l[i] = [_clamped(rule(u), *L) for rule in rules] + [_clamped(rule(abs(u)), *W) for rule in rules] + [_clamped(rules[0](v), *L), _clamped(rules[1](v), *L), _clamped(rules[2](abs(v)), *W), _clamped(rules[3](abs(v)), *W)]
        F = np.float32
        us, ut = s & 0xFFFFFFFF, t & 0xFFFFFFFFFFFFFFFF
        f[i] = [_round(Fraction(s), F, m) for m in ("rn", "rz", "rd", "ru")] + [_round(Fraction(us), F, "rn"), _round(Fraction(us), F, "rz"), _round(Fraction(t), F, "rn"), _round(Fraction(t), F, "ru"), _round(Fraction(ut), F, "rd")] + [
            _round(Fraction(v), F, m) if v else F(v) for m in ("rn", "rz", "rd", "ru")] + [np.rint(x[i]), np.trunc(x[i]), np.floor(x[i]), np.ceil(x[i]), F(min(max(u, 0.0), 1.0)), F(s & 0xFFFF), F(s & 0xFF)]
        D = np.float64
        g[i] = [s, us, _round(Fraction(t), D, "rn"), _round(Fraction(ut), D, "rz"), u, float(np.int32(s).astype(np.int16)), np.rint(v), np.trunc(v), np.floor(v), np.ceil(v)]
    l = np.array([[int(v) & (2**64 - 1) for v in row] for row in l], np.uint64).view(np.int64)
    o = (o & 0xFFFFFFFF).astype(np.uint32).view(np.int32)
    return Case(3, 32, [out(o), out(l), out(f, mode="value"), out(g, mode="value"), inp(x), inp(y), inp(a), inp(b), i32(n)])


M32, M64 = 2**32 - 1, 2**64 - 1


def _s32(x):
    x &= M32
    return x - 2**32 if x >> 31 else x


def _s64(x):
    x &= M64
    return x - 2**64 if x >> 63 else x


def bits(r):
    n = 64
    x = r.integers(0, 2**32, n).astype(np.uint32)
    x[:8] = [0, 1, 0x80000000, 0xFFFFFFFF, 0x00010000, 0x7654, 33, 0x12345678]
    o, l = np.zeros((n, 22), np.uint32), np.zeros((n, 4), np.uint64)
    for i in range(n):
        a, b, c = (int(x[(i + j) % n]) for j in range(3))
        w = a << 32 | b
        both = b << 32 | a
        perm = 0
        for j in range(4):
            s = c >> 4 * j & 15
            perm |= (both >> 8 * (s & 7) & 255) << 8 * j
        ffs = lambda v: (v & -v).bit_length()
        rev = lambda v, k: int(f"{v:0{k}b}"[::-1], 2)
        o[i] = [v & M32 for v in [
            a.bit_count(), 32 - a.bit_length(), rev(a, 32), ffs(a), perm, w.bit_count(), 64 - w.bit_length(), ffs(w),
            (both << (c & 31)) >> 32, both >> (c & 31), (both << min(c, 32)) >> 32, both >> min(c, 32),
            a >> 5 & 0x1FF, _s32(a << 7) >> 20, a & ~0xFF00 | (b & 255) << 8, a ^ b ^ c, a & b | ~a & c, ~(a | b), a << (c & 31), _s32(a) >> (b & 31), (a & b ^ c) & 0xFFFF, int(a != 0)]]
        l[i] = [rev(w, 64), w >> (c & 63), _s64(w) >> (c & 63) & M64, (w << (c & 63) ^ ~w) & M64]
    return Case(2, 32, [out(o), out(l), inp(x), i32(n)])


def _quotient(a, b):
    q = abs(a) // abs(b)
    return -q if (a < 0) != (b < 0) else q


def integers(r):
    n = 64
    x = r.integers(-2**31, 2**31, n).astype(np.int32)
    x[:10] = [0, 1, -1, 2**31 - 1, -2**31, 7, -7, 100000, -65536, 12]
    o, l = np.zeros((n, 22), np.uint32), np.zeros((n, 10), np.uint64)
    low24 = lambda v: (v & 0xFFFFFF) - (2**24 if v >> 23 & 1 else 0)
    s16 = lambda v: ((v & 0xFFFF) ^ 0x8000) - 0x8000
    for i in range(n):
        a, b, c = (int(x[(i + j) % n]) for j in range(3))
        ua, ub, uc = a & M32, (b & M32) or 1, c & M32
        w, v, d = a * c, b or 3, b or 7
        o[i] = [y & M32 for y in [
            a * b >> 32, ua * (b & M32) >> 32, low24(a) * low24(b), (a & 0xFFFFFF) * (b & 0xFFFFFF), abs(a - b) + c, abs(ua - (b & M32)) + uc,
            _quotient(a, d), a - _quotient(a, d) * d, ua // ub, ua % ub, max(a, b), min(a, b), max(ua, b & M32), min(ua, b & M32),
            abs(a), a * b + c, s16(a) * s16(b), (a & 0xFFFF) // ((ub | 1) & 0xFFFF), (a + b) >> 1, -a, _quotient(a, 10), ua % 1000]]
        l[i] = [y & M64 for y in [w, _quotient(w, v), w - _quotient(w, v) * v, (w & M64) // ub, w * v >> 64, (w & M64) * (v & M64) >> 64, max(w, v), min(w, v), abs(w), ua * ub]]
    return Case(2, 32, [out(o), out(l), inp(x), i32(n)])


def wide(r):
    n = 40
    x = r.integers(0, 2**32, (n, 16)).astype(np.uint32)
    x[0], x[1, :8], x[1, 8:] = M32, M32, [1] + [0] * 7
    o, l = np.zeros((n, 24), np.uint32), np.zeros((n, 2), np.uint64)
    number = lambda words: sum(int(w) << 32 * j for j, w in enumerate(words))
    words = lambda v, k: [v >> 32 * j & M32 for j in range(k)]
    for i in range(n):
        a, b = x[i, :8], x[i, 8:]
        o[i, :8] = words(number(a) + number(b), 8)
        o[i, 8:12] = words(number(a[:4]) - number(b[:4]), 4)
        o[i, 16:20] = words(number(a[:2]) * number(b[:2]), 4)
        p, q = int(a[2]) * int(b[2]), int(a[3])
        s = (p >> 32) + q
        t = (p & M32) + q + (s >> 32)
        u = ((t & M32) * int(b[2]) >> 32) + 5 + (t >> 32)
        o[i, 20:22] = [s & M32, u & M32]
        l[i] = [(number(a[:4]) + number(b[:4])) >> 64 * j & M64 for j in range(2)]
    return Case(2, 32, [out(o), out(l), inp(x), i32(n)])
