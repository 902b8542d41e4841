"""Small floats, matrix products, and copies in the background."""
import numpy as np
from generate import Case, i32, inout, inp, out


def _halves(r, n):
    x = (r.standard_normal(n) * np.exp2(r.integers(-4, 5, n))).astype(np.float16)
    x[:12] = [0, -0.0, 1, -1, 65504, -65504, 6e-8, 1e-5, 0.5, 3, np.inf, 2.5]
    return x


def _h(x):
    with np.errstate(over="ignore"):
        return np.asarray(x, np.float64).astype(np.float16)


def halves(r):
    n = 96
    x = _halves(r, n)
    d = x.astype(np.float64)
    a, b, c = d, np.roll(d, -1), np.roll(d, -2)
    q = np.float16
    with np.errstate(all="ignore"):
        third = (b.astype(np.float32) / np.float32(3)).astype(np.float64)
        near = _h(third)
        tiny = lambda v, up: np.nextafter(v, q(np.inf) if up else q(-np.inf), dtype=q)
        down = np.where(near.astype(np.float64) > third, tiny(near, False), near)
        up = np.where(near.astype(np.float64) < third, tiny(near, True), near)
        zero = np.where(third < 0, up, down)
        i = np.arange(n)
        rz = _h(i * 1001.0)
        rz = np.where(rz.astype(np.float64) > i * 1001.0, tiny(rz, False), rz)
        rz = np.where(i * 1001.0 > 65504, q(65504), rz)
        o = np.stack([_h(a + b), _h(a * b), _h(-a), _h(abs(b)), _h(a - c), _h(a * b + c), _h((a.astype(np.float32) * np.float32(1.0009765625)).astype(np.float64)), zero, down, up, _h(i * 37.0), rz], 1)
        pair = lambda u, v: np.stack([u, v], 1)
        sat = lambda v: np.clip(np.nan_to_num(v, nan=0.0), 0, 1)
        tenth = np.float32(0.1)
        p = np.stack([pair(_h(a + b), _h(b + c)), pair(_h(a * b), _h(b * c)), pair(_h(a - c), _h(b - a)), pair(_h(a * b + c), _h(b * c + a)), pair(_h(-a), _h(-b)), pair(_h(abs(b)), _h(abs(c))),
                      pair(_h(sat(a * b + c)), _h(sat(b * c + a))), pair(_h((x.astype(np.float32) * tenth).astype(np.float64)), _h((np.roll(x, -2).astype(np.float32) * tenth).astype(np.float64)))], 1)
        words = lambda f: np.where(f(a, b), 0xFFFF, 0) | np.where(f(b, c), 0xFFFF0000, 0)
        z = np.stack([a < b, a > b, np.clip(np.rint(a), -2**31, 2**31 - 1), np.clip(np.trunc(abs(a)), 0, 65535), words(np.equal), words(np.greater_equal), words(np.less), 0 * i], 1)
        f = (x.astype(np.float32) + x.astype(np.float32) + np.roll(x, -2).astype(np.float32))
    z = (z.astype(np.int64) & 0xFFFFFFFF).astype(np.uint32).view(np.int32)
    return Case(3, 32, [out(o, mode="value"), out(p, mode="value"), out(z), out(f, mode="value"), inp(x), i32(n)])


def halves_more(r):
    n = 96
    x = _halves(r, n)
    d = x.astype(np.float64)
    a, b, c = d, np.roll(d, -1), np.roll(d, -2)
    pair = lambda u, v: np.stack([u, v], 1)
    with np.errstate(all="ignore"):
        relu = lambda v: _h(np.where(v < 0, 0, v))
        up = lambda v: (v.astype(np.float32) * np.float32(1.1)).astype(np.float64)
        p = np.stack([pair(_h(np.maximum(a, b)), _h(np.maximum(b, c))), pair(_h(np.minimum(a, b)), _h(np.minimum(b, c))), pair(_h(np.maximum(a, c)), _h(np.maximum(b, a))),
                      pair(relu(a * b + c), relu(b * c + a)), pair(relu(up(b)), relu(up(a))), pair(_h(np.exp2(np.minimum(a, 4))), _h(np.exp2(np.minimum(b, 4))))], 1)
        f = np.maximum(a, b).astype(np.float32)
    return Case(3, 32, [out(p, tol=(1e-7, 0.002)), out(f, mode="value"), inp(x), i32(n)], targets=(80, 90, 100))


def _bf(x):
    """To the nearest bfloat16, as the f32 that it is; x is exact in f64."""
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        f = x.astype(np.float32)
        # To odd, so that rounding twice is rounding once.
        bits = f.view(np.uint32)
        off = f.astype(np.float64) != x
        toward = np.where(abs(f.astype(np.float64)) > abs(x), bits - 1, bits + 1)
        bits = np.where(off & (bits & 1 == 0) & np.isfinite(x), toward, bits).astype(np.uint32)
        rounded = (bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)
    return rounded.astype(np.uint32).view(np.float32)


def _b16(f):
    return (np.ascontiguousarray(f).view(np.uint32) >> 16).astype(np.uint16)


def bfloats(r):
    n = 64
    d = _bf(r.standard_normal(n) * np.exp2(r.integers(-8, 9, n))).astype(np.float64)
    d[:6] = [0, 1, -1, 256, 0.5, -3]
    a, b, c = d, np.roll(d, -1), np.roll(d, -2)
    third = (a.astype(np.float32) / np.float32(3))
    cut = (third.view(np.uint32) & 0xFFFF0000).view(np.float32)
    o = np.stack([_bf(a + b), _bf(a * b), _bf(-a), _bf(abs(a)), _bf(np.maximum(a, b)), _bf(np.minimum(a, b)), _bf(a * b + c), _bf(third.astype(np.float64)), cut], 1)
    pair = lambda u, v: np.stack([u, v], 1)
    relu = lambda v: _bf(np.where(v < 0, 0, v))
    scaled = lambda v: _bf((v.astype(np.float32) * np.float32(0.3)).astype(np.float64))
    p = np.stack([pair(_bf(a + b), _bf(b + c)), pair(_bf(a * b), _bf(b * c)), pair(_bf(a - b), _bf(b - c)), pair(relu(a * b + c), relu(b * c + a)), pair(scaled(a), scaled(b))], 1)
    f = a.astype(np.float32) + _bf(b - c)
    return Case(2, 32, [out(_b16(o)), out(_b16(p)), out(f.astype(np.float32), mode="value"), inp(_b16(d.astype(np.float32))), i32(n)], targets=(80, 90, 100))


def _table(exponent, mantissa, top):
    """All magnitudes of an 8-bit format that are numbers."""
    bias = 2 ** (exponent - 1) - 1
    values = []
    for code in range(top + 1):
        e, m = code >> mantissa, code & (1 << mantissa) - 1
        values.append((m if e == 0 else m + (1 << mantissa)) * 2.0 ** (max(e, 1) - bias - mantissa))
    return np.array(values)


def _to8(x, table):
    codes = []
    for v in np.asarray(x, np.float64):
        m = min(abs(v), table[-1])
        j = int(np.searchsorted(table, m))
        if j and (m - table[j - 1] < table[j] - m or m - table[j - 1] == table[j] - m and j % 2):
            j -= 1
        codes.append(j | (128 if np.signbit(v) else 0))
    return np.array(codes)


def eighths(r):
    n = 128
    x = (r.standard_normal(n) * np.exp2(r.integers(-12, 12, n))).astype(np.float32)
    x[:10] = [0, -0.0, 448, 500, -1e9, 57344, 2.0**-9, 2.0**-10, 2.0**-17, 17]
    e4, e5 = _table(4, 3, 0x7E), _table(5, 2, 0x7B)
    o, h = np.zeros((n, 2), np.uint16), np.zeros((n, 2), np.uint32)
    for j, t in enumerate((e4, e5)):
        a = _to8(x, t)
        b = np.roll(a, -1)
        o[:, j] = a << 8 | b
        half = lambda c: np.where(c & 128, -t[c & 127], t[c & 127]).astype(np.float16).view(np.uint16).astype(np.uint32)
        h[:, j] = half(a) << 16 | half(b)
    bits = x.view(np.uint32)
    t = (bits.astype(np.uint64) + 0x1000 & 0xFFFFE000).astype(np.uint32)
    return Case(4, 32, [out(o), out(h), out(t), inp(x), i32(n)], targets=(90, 100))


def mma_floats(r):
    small = lambda *shape: r.integers(-8, 9, shape) / 4
    a, b, ta, tb, da, db = small(16, 16), small(16, 8), small(16, 8), small(8, 8), small(8, 4), small(4, 8)
    col = np.array([0, 1] * 4)
    c = col + 2 * (np.arange(16) // 8)[:, None]
    f = (a @ b + c).astype(np.float32)
    as16 = lambda v: v.astype(np.float16).view(np.uint16)
    asb = lambda v: _b16(v.astype(np.float32))
    s = (a[:, :8] @ b[:8]).astype(np.float16).view(np.uint16)
    d = da @ db + np.array([1, 2] * 4)
    return Case(1, 32, [out(f), out(f), out((ta @ tb).astype(np.float32), mode="value"), out(d), out(s), inp(as16(a)), inp(as16(b)), inp(asb(a)), inp(asb(b)), inp(ta.astype(np.float32)), inp(tb.astype(np.float32)), inp(da), inp(db)], targets=(80, 90, 100))


def mma_bytes(r):
    a, b, s = r.integers(0, 256, (16, 32)), r.integers(-128, 128, (32, 8)), r.integers(-128, 128, (16, 32))
    half = (np.arange(16) // 8)[:, None]
    c = np.array([1, 2] * 4) + 2 * half
    big = np.array([-2147483000, 2147483000] * 4)
    p = np.clip(s @ b + big, -2**31, 2**31 - 1)
    return Case(1, 32, [out((a @ b + c).astype(np.int32)), out(p.astype(np.int32)), inp(a.astype(np.uint8)), inp(b.astype(np.int8)), inp(s.astype(np.int8))], targets=(80, 90, 100))


def wmma_tiles(r):
    a, b, c = r.integers(-4, 5, (16, 16)) / 2, r.integers(-4, 5, (16, 16)) / 2, r.integers(-9, 9, (16, 16)).astype(float)
    f = 2 * (a @ b.T + c)
    h = a.T @ b + 1
    return Case(1, 32, [out(f.astype(np.float32), mode="value"), out(h.T.astype(np.float16).copy(), mode="value"), inp(a.astype(np.float16)), inp(b.astype(np.float16)), inp(c.astype(np.float32))])


def matrix_moves(r):
    x = r.integers(0, 65536, 256).astype(np.uint16)
    m = x.reshape(4, 8, 8).astype(np.uint32)
    pairs = lambda m: (m[..., 0::2] | m[..., 1::2] << 16).reshape(m.shape[0], 32)
    plain, turned = pairs(m), pairs(m.transpose(0, 2, 1))
    o = np.concatenate([plain.T, turned.T, turned[:2].T], 1)
    back = np.concatenate([x, x, x[128:256]])
    return Case(1, 32, [out(np.ascontiguousarray(o)), out(back), inp(x)])


def async_copies(r):
    tiles = 5
    x = r.integers(-99, 99, tiles * 128).astype(np.float32)
    lanes = np.arange(32)
    four = x[3 * lanes]
    o = np.zeros((tiles + 1, 32), np.float32)
    for t in range(tiles):
        o[t] = sum(x[t * 128 + (lanes + 32 * j + 5) % 128] for j in range(4)) + four[31 - lanes]
    o[tiles] = x[128 + 127 - lanes]
    return Case(1, 32, [out(o), inp(x), i32(tiles)], targets=(80, 90, 100))


def barrier_objects(r):
    rounds, lanes = 7, np.arange(32)
    s = sum(q * 1000 + ((lanes + q) % 32) ** 2 for q in range(rounds))
    return Case(1, 64, [out(np.concatenate([0 * lanes, s]).astype(np.int32)), i32(rounds)], targets=(90, 100))
