"""Memory of all kinds, and the exchange between threads."""
import numpy as np
from generate import Case, f32, i32, inout, inp, out, scalar, struct


def vectors(r):
    n = 70
    f = r.standard_normal((n, 4)).astype(np.float32)
    i = r.integers(-99, 99, (n, 4)).astype(np.int32)
    d, u = r.standard_normal((n, 2)), r.integers(0, 256, (n, 4)).astype(np.uint8)
    h, s = r.integers(0, 65536, (n, 4)).astype(np.uint16), r.integers(-999, 999, (n, 2)).astype(np.int16)
    g, l = r.standard_normal((n, 2)).astype(np.float32), r.integers(0, 2**63, (n, 2)).astype(np.uint64)
    m = r.integers(0, 2**31, (n, 2)).astype(np.uint32)
    w = [x.copy() for x in (f, i, d, u, h, s, g, l, m)]
    w[0][:, 0] += f[:, 3]; w[0][:, 1] -= f[:, 2]
    w[1][:, 3] = i[:, 0] ^ i[:, 1]; w[1][:, 2] += 3
    w[2][:, 0] = d[:, 1] * 2
    w[3][:, 0] += u[:, 1]; w[3][:, 3] = u[:, 2]
    w[4][:, 0] ^= h[:, 3]; w[4][:, 1] += 7
    w[5][:, 0] = -s[:, 1]
    w[6][:, 1] = g[:, 0] + np.float32(1)
    w[7][:, 1] += l[:, 0]
    w[8][:, 0] += m[:, 1]
    return Case(3, 32, [inout(x, y) for x, y in zip((f, i, d, u, h, s, g, l, m), w)] + [i32(n)], lines=True)


def caches(r):
    x = r.integers(-50, 50, 64).astype(np.float32)
    p, v = r.integers(0, 99, 64).astype(np.int32), r.integers(-99, 99, (64, 4)).astype(np.int32)
    d, l = r.integers(0, 9, 64).astype(np.float64), r.integers(0, 9, 64).astype(np.int64)
    o = np.concatenate([x * 255, x]).astype(np.float32)
    return Case(1, 64, [out(o), inp(x), inout(p, (p + d + l).astype(np.int32)), inp(v), out(v[:, ::-1].copy()), inp(d), inp(l)])


def shared_types(r):
    n = 64
    kinds = [(np.uint8, 1), (np.int16, 1), (np.int32, 1), (np.int64, 1), (np.float32, 1), (np.float64, 1), (np.uint8, 2), (np.uint16, 2), (np.int32, 2), (np.float32, 4), (np.int32, 4), (np.uint64, 2)]
    data = [r.integers(0, 120, (n, k)).astype(t) for t, k in kinds]
    return Case(1, n, [inout(x, x[::-1].copy()) for x in data], shared=8 * n, debug=True)


def spaces(r):
    o, add, s1 = np.zeros((32, 8), np.int32), np.zeros(8, np.int32), 1 + 10
    for i in range(32):
        own = [i, i + 1, i + 2, i + 3]
        s = i + (10 if i & 1 else 0)
        own[2] += 0 if i & 1 else 10
        if i % 3:
            add[i & 7] += 1
        else:
            s1 += 1
        fixed = [1, 2, 3, 4, 5, 6, 7, 8, 9]
        o[i] = [101, 2, 4, 8, s + own[2] + own[i & 3], i + 4, 0, fixed[i] if i < 9 else own[3]]
    # Lane 1's own element is read before the barrier, after the other lanes' sums or not.
    o[:, 6] = s1
    return Case(1, 32, [out(o), inout(np.zeros(8, np.int32), add)], debug=True)


def parameters(r):
    n = 40
    i = np.arange(n)
    v, q, w = np.array([1, 2, 3, 4], np.float32), np.array([9, 8, 7, 6], np.uint8), np.array([65535, 5, 70, 80], np.uint16)
    d, g, m = np.array([0.5, 1.5]), np.array([10, 20], np.float32), np.array([3, 4, 5, 6], np.int32)
    c, h, b = -7, -300, 200
    f = np.stack([v[0] + i + 10, v[1] + 20 + 0 * i, v[2] + 0.5 + 0 * i, v[3] + 1.5 + 0 * i], 1).astype(np.float32)
    u = np.stack([65535 + 9 + 0 * i, 5 + 8 + 0 * i, 70 + c + 0 * i, 80 + h + i], 1) % 65536
    o = np.zeros((n, 2), np.int32)
    for j in range(n):
        t = c + h if j & 1 else c - 65535
        t = ((t & 255) ^ 128) - 128
        o[j] = [t + b + -5 + 1234 + [250, 3][j & 1], 3 + 4 * j + 5 - 6]
    pair = struct(2, np.int8(-5), np.zeros(1, np.uint8), np.int16(1234), np.array([250, 3], np.uint8))
    args = [out(f), out(u.astype(np.uint16)), out(o), scalar("i8", c), scalar("i16", h), scalar("u8", b), struct(16, v), struct(4, q), struct(8, w), struct(16, d), struct(8, g), struct(16, m), pair]
    return Case(1, n, args, debug=True)


def stack(r):
    want = []
    for i in range(40):
        total = 0
        for rnd in range(3):
            s = 0
            for j in range(i % 9 + 1):
                s = s * 3 + i + j + rnd
            total += s
        want.append(total)
    return Case(1, 40, [out(np.array(want, np.int64).astype(np.int32))])


def shuffles(r):
    x = r.integers(-1000, 1000, 64).astype(np.int32)
    o, d = np.full((64, 10), -1, np.int32), np.zeros(64)
    for i in range(64):
        w, t = i // 32 * 32, i % 32
        at = lambda lane: x[w + lane]
        up = lambda k, width: at(t - k) if t % width >= k else at(t)
        down = lambda k, width: at(t + k) if t % width + k < width else at(t)
        o[i, :8] = [at(5), at(t // 8 * 8 + i * 7 % 8), up(3, 32), up(1, 4), down(9, 32), down(2, 16), at(t ^ 13), at(t ^ 1)]
        o[i, 8] = at(t ^ 8) if t < 16 else up(2, 16)
        if t & 1:
            o[i, 9] = down(2, 32)
        d[i] = down(1, 32) * 0.5
    return Case(1, 64, [out(o), out(d), inp(x)])


def votes(r):
    x = r.integers(0, 12, 64).astype(np.int32)
    x[:3] = [11, 4, 5]
    o = np.zeros((64, 12), np.uint32)
    for i in range(64):
        w, t = i // 32 * 32, i % 32
        v = [int(y) for y in x[w:w + 32]]
        bal = lambda f: sum(1 << j for j in range(32) if f(v[j]))
        same = len(set(v)) == 1
        odd = bal(lambda y: y & 1)
        mask, base, offset = v[t] * 0x01234567 & 0xFFFFFFFF, t, i % 5 - 2
        found, step, left, at = 0xFFFFFFFF, (1 if offset > 0 else -1), abs(offset), base
        if offset == 0:
            found = base if mask >> base & 1 else found
        else:
            while 0 <= at < 32:
                if mask >> at & 1:
                    left -= 1
                    if left == 0:
                        found = at
                        break
                at += step
        o[i] = [bal(lambda y: y > 3), 11 in v, 1, 1, bal(lambda y: y == v[t]), 0xFFFFFFFF, 1, 0xFFFFFFFF if same else 0, bal(lambda y: y & 3 == v[t] & 3),
                bal(lambda y: y & 1 and y > 5) if v[t] & 1 else (~odd & 0xFFFFFFFF).bit_count(), 1, found]
    return Case(1, 64, [out(o), inp(x)])


def reduce_sync(r):
    x = r.integers(-2**31, 2**31, 64).astype(np.int32)
    o = np.zeros((64, 9), np.uint32)
    for i in range(64):
        v = x[i // 32 * 32:][:32]
        u = v.view(np.uint32)
        half = x[i // 16 * 16:][:16]
        wrap = lambda s: int(s) & 0xFFFFFFFF
        o[i] = [wrap(v.astype(np.int64).sum()), wrap(v.min()), wrap(v.max()), u.min(), u.max(), np.bitwise_and.reduce(u | 255), np.bitwise_or.reduce(u & 0xFF00), np.bitwise_xor.reduce(u), wrap(half.astype(np.int64).sum())]
    return Case(1, 64, [out(o), inp(x)], targets=(80, 90, 100))


def scan(r):
    n, block = 300, 128
    x = r.integers(-99, 99, n).astype(np.int32)
    o = np.concatenate([np.cumsum(x[i:i + block]) for i in range(0, n, block)]).astype(np.int32)
    return Case(3, block, [out(o), inp(x), i32(n)], debug=True)


def block_votes(r):
    x = r.integers(-20, 10, (3, 96)).astype(np.int32)
    o = np.zeros((3, 96, 3), np.int32)
    for b in range(3):
        o[b] = [(x[b] > 2).sum(), (x[b] > -10 * b).all(), (x[b] == 9).any()]
    return Case(3, 96, [out(o), inp(x)], debug=True)


def named_barriers(r):
    o = np.zeros(128, np.int32)
    o[32:64] = [sum(q * 100 + 31 - t for q in range(6)) for t in range(32)]
    o[64:96], o[96:] = 2, 3
    return Case(1, 128, [out(o)])


def atomics(r):
    n, i = 128, np.arange(128)
    s = np.array([5, 6, 7, 8, 9, 1, 999, 0], np.int32)
    u = np.array([0xFFFFFFFF, 0, 3, 5000, 1, 0, 0, 0, 5, 0, 0, 0xFFFF, 50, 0], np.uint32)
    l = np.array([1, 2, 0, 4, 9, 0, 7, 2**64 - 1, 0, 0, 0, 3], np.uint64)
    ws, wu, wl = s.copy(), u.copy(), l.copy()
    ws[0] += i.sum(); ws[1] -= i.sum(); ws[2] = 50 - 127; ws[3] = 381; ws[4] = 77; ws[6], ws[7] = 0, 127
    wu[0], wu[1], wu[2], wu[3], wu[4] = 0, 2**29 - 1, 3 ^ int(np.bitwise_xor.reduce(i)), 1000 - 127, 127 * 7
    wu[5], wu[7], wu[8] = n % 11, 256, 6
    v = 0
    for _ in range(n):
        v = 10 if v == 0 or v > 10 else v - 1
    wu[6] = v
    wu[9], wu[10], wu[11], wu[12], wu[13] = 0, 2, 3, 9, 9
    xor5 = 0
    for t in range(n):
        xor5 ^= 1 << t % 60
    wl[:8] = [1 + (int(i.sum()) << 30), 127 << 33, 2**64 - 1, 2**64 - 127, 1 << 40, xor5, 123, (2**64 - 1) ^ (2**50 - 1)]
    wl[8], wl[9], wl[10], wl[11] = 128, 5, 6, 2**64 - 5
    order = np.zeros(256, np.int32)
    want = np.concatenate([np.full(128, 13), np.ones(128)]).astype(np.int32)
    # Which thread exchanged last is open.
    case = Case(4, 32, [inout(s[:5], ws[:5]), inout(u, wu), inout(l, wl), inout(order, want)], debug=True)
    return _with_tail(case, s, ws)


def _with_tail(case, s, ws):
    from generate import Buffer
    case.args[0] = Buffer(np.ascontiguousarray(s), np.ascontiguousarray(ws), {"mode": "tol", "abs": [0, 0, 0, 0, 0, 127, 0, 0], "rel": [0]})
    return case


def atomics_shared(r):
    n = 1000
    x = r.integers(-5000, 5000, n).astype(np.int32)
    o = [int((x & 15 == b).sum()) for b in range(16)] + [x.min(), x.max(), int((x & 255).sum()), n, 256, 1]
    return Case(1, 128, [out(np.array(o, np.int32)), inp(x), i32(n)])


def atomics_float(r):
    n = 100
    x = (r.integers(-64, 64, n) / 8).astype(np.float32)
    f, d, h = np.zeros(104, np.float32), np.zeros(103), np.zeros((4, 2), np.float16)
    f[:3] = [x[j::3].sum() for j in range(3)]
    f[3], f[4:] = n, 2
    d[:2] = [x[j::2].astype(np.float64).sum() / 8 for j in range(2)]
    d[2], d[3:] = n, 3
    h[:] = [25 * 0.25, 25]
    return Case(4, 32, [inout(0 * f, f), inout(0 * d, d), inout(0 * h, h), inp(x), i32(n)])


def atomics_scoped(r):
    n = 64
    i = np.arange(n)
    o = np.full(132, -1, np.int32)
    o[:4] = [3 * n + 1, 7, 511, 5 * n]
    o[64:128] = -2
    o[130], o[131] = 42, 987
    m = i + 64
    rr = np.array([i.sum(), 63], np.int32)
    u = np.array([0xFFFF, 0, 0, 0, 5000, 0, 0], np.uint32)
    wu = np.array([0xFFFF & np.bitwise_and.reduce(m), np.bitwise_or.reduce(m), np.bitwise_xor.reduce(m), n % 7, 64, m.sum(), n], np.uint32)
    l = np.array([0, 0, 0, 0, 987], np.uint64)
    wl = np.array([int(i.sum()) << 35, 63 << 35, 0, 0, 987], np.uint64)
    f = np.zeros(4 + n, np.float32)
    wf = np.concatenate([[n / 2, 0, 0, 0], i * 0.5]).astype(np.float32)
    from generate import Buffer
    init = np.full(132, -1, np.int32)
    tolerance = [0.0] * 64 + [70.0] * 64 + [0.0] * 4
    first = Buffer(init, o, {"mode": "tol", "abs": tolerance, "rel": [0]})
    return Case(1, n, [first, inout(np.zeros(2, np.int32), rr), inout(u, wu), inout(l, wl), inout(f, wf)])


def last_block(r):
    n = 5000
    x = r.integers(-999, 999, n).astype(np.int32)
    parts = np.array([sum(int(x[j:j + 64].sum()) for j in range(b * 64, n, 7 * 64)) for b in range(7)], np.int32)
    return Case(7, 64, [out(np.array([x.sum()], np.int32)), out(parts), inp(x), i32(n)])


def grid_barrier(r):
    n, rounds = 200, 5
    a = r.integers(0, 50, n).astype(np.int32)
    x, y = a.copy(), np.zeros(n, np.int32)
    for q in range(rounds):
        y, x = x, (x + np.roll(x, -37)).astype(np.int32)
    return Case(7, 32, [inout(a, y), inout(np.zeros(n, np.int32), x), i32(n), i32(rounds)], cooperative=True)
