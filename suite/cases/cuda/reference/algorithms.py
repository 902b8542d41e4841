"""Small programs of the usual kinds."""
import hashlib
import zlib
import numpy as np
from generate import Case, f32, i32, inout, inp, out, u64

M32, M64 = 2**32 - 1, 2**64 - 1


def saxpy(r):
    n = 1000
    x, y = (r.integers(-64, 64, n) / 8).astype(np.float32), (r.integers(-64, 64, n) / 8).astype(np.float32)
    return Case(3, 64, [inout(y, np.float32(1.5) * x + y, mode="value"), inp(x), f32(1.5), i32(n)], lines=True)


def transpose(r):
    x = r.standard_normal((37, 50)).astype(np.float32)
    return Case((4, 3), (16, 16), [out(x.T.copy()), inp(x), i32(37), i32(50)], debug=True)


def sgemm(r):
    a, b = r.integers(-4, 5, (33, 41)).astype(np.float32), r.integers(-4, 5, (41, 20)).astype(np.float32)
    return Case((2, 3), (16, 16), [out((a @ b).astype(np.float32), mode="value"), inp(a), inp(b), i32(33), i32(20), i32(41)], debug=True)


def bitonic(r):
    keys, values = r.permutation(256).astype(np.int32) - 100, r.integers(0, 999, 256).astype(np.int32)
    order = np.argsort(keys)
    return Case(1, 256, [inout(keys, keys[order]), inout(values, values[order])])


def mandelbrot(r):
    w, h, limit = 24, 17, 60
    o = np.zeros((h, w), np.int32)
    for y in range(h):
        for x in range(w):
            c, z, n = complex(-2 + x * 0.125, -1 + y * 0.125), 0j, 0
            re = im = 0.0
            while n < limit and re * re + im * im <= 4:
                re, im, n = re * re - im * im + c.real, 2 * re * im + c.imag, n + 1
            o[y, x] = n
    return Case((3, 5), (8, 4), [out(o), i32(w), i32(h), i32(limit)])


def life(r):
    x = r.integers(0, 2, (19, 30)).astype(np.uint8)
    n = sum(np.roll(x, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1)) - x
    return Case((4, 5), (8, 4), [out(((n == 3) | (n == 2) & (x == 1)).astype(np.uint8)), inp(x), i32(30), i32(19)], debug=True)


def _primes(count):
    found, c = [], 2
    while len(found) < count:
        if all(c % p for p in found):
            found.append(c)
        c += 1
    return found


def sha256(r):
    import math
    text = r.integers(0, 256, (32, 40)).astype(np.uint8)
    o = [np.frombuffer(hashlib.sha256(t.tobytes()).digest(), ">u4") for t in text]

    def cube_fraction(p):
        scaled, low, high = p << 96, 0, 1 << 40
        while high - low > 1:
            mid = (low + high) // 2
            low, high = (mid, high) if mid**3 <= scaled else (low, mid)
        return low & M32

    table = np.array([cube_fraction(p) for p in _primes(64)], np.uint32)
    return Case(1, 32, [out(np.array(o, np.uint32)), inp(text), i32(40)], globals_=[("K", table)])


def crc(r):
    lengths = r.integers(0, 30, 20)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    text = r.integers(0, 256, starts[-1]).astype(np.uint8)
    o = np.array([[zlib.crc32(text[a:b].tobytes())] * 2 for a, b in zip(starts, starts[1:])], np.uint32)
    return Case(1, 64, [out(o), inp(text), inp(starts), i32(20)])


def search(r):
    s, keys = np.sort(r.integers(0, 500, 300)).astype(np.int32), r.integers(-5, 510, 100).astype(np.int32)
    return Case(4, 32, [out(np.searchsorted(s, keys).astype(np.int32)), inp(s), i32(300), inp(keys), i32(100)])


def quicksort(r):
    x = r.integers(-1000, 1000, (40, 24)).astype(np.int32)
    return Case(2, 32, [inout(x, np.sort(x, 1)), i32(40)], debug=True)


def machine(r):
    n, length = 64, 24
    code = r.integers(0, 256, (n, length)).astype(np.uint8)
    wrap = lambda v: ((v & M32) ^ 0x80000000) - 0x80000000
    o = []
    for i in range(n):
        stack, top, pc, acc, p = [0] * 8, 0, 0, i, [int(v) for v in code[i]]
        for steps in range(200):
            if pc >= length:
                break
            op = p[pc]
            pc += 1
            kind, arg = op & 15, op >> 4
            if kind == 0: acc += arg
            elif kind == 1: acc -= arg
            elif kind == 2: acc *= 3
            elif kind == 3: acc ^= 0x55
            elif kind == 4: acc <<= 1
            elif kind == 5: acc >>= 1
            elif kind == 6: stack[top & 7] = acc; top += 1
            elif kind == 7:
                if top: top -= 1; acc += stack[top & 7]
            elif kind == 8:
                if acc & 1: pc += op >> 6
            elif kind == 9: acc = -acc
            elif kind == 10: acc = int(np.fmod(acc, 1000))
            elif kind == 11: acc |= arg
            elif kind == 12:
                if steps < 100: pc = arg % length
            elif kind == 13: acc = (acc & M32).bit_count()
            elif kind == 14: acc = ~acc
            else: pc = length
            acc = wrap(acc)
        o.append(acc)
    return Case(2, 32, [out(np.array(o, np.int32)), inp(code), i32(length), i32(n)])


def hash_table(r):
    size, n = 128, 500
    keys = r.integers(1, 90, n).astype(np.uint32)
    counts = np.bincount(keys, minlength=100).astype(np.uint32)
    from generate import Buffer
    slots = Buffer(np.zeros(size, np.uint32), np.zeros(size, np.uint32), {"mode": "none"})
    return Case(8, 64, [slots, inout(0 * counts, counts), inp(keys), i32(n), i32(size)])


def _graph(r, n, edges):
    pairs = sorted(set((int(a), int(b)) for a, b in r.integers(0, n, (edges, 2)) if a != b))
    return pairs


def breadth_first(r):
    n = 150
    pairs = _graph(r, n, 300)
    starts = np.searchsorted([a for a, _ in pairs], np.arange(n + 1)).astype(np.int32)
    nxt = np.array([b for _, b in pairs], np.int32)
    level, front, depth = np.full(n, -1, np.int32), [0], 0
    first = level.copy()
    first[0] = level[0] = 0
    while front:
        depth += 1
        front = sorted({int(b) for v in front for b in nxt[starts[v]:starts[v + 1]] if level[b] < 0})
        level[front] = depth
    return Case(1, 64, [inout(first, level), inp(starts), inp(nxt), i32(n)])


def union_find(r):
    n = 200
    pairs = _graph(r, n, 120)
    parent = np.arange(n)

    def root(v):
        while parent[v] != v:
            v = parent[v]
        return v

    for a, b in pairs:
        x, y = sorted((root(a), root(b)))
        parent[y] = x
    want = np.array([root(v) for v in range(n)], np.int32)
    a, b = np.array(pairs, np.int32).T
    return Case(1, 64, [inout(np.arange(n, dtype=np.int32), want), inp(a.copy()), inp(b.copy()), i32(len(pairs)), i32(n)])


def fourier(r):
    x = r.standard_normal((3, 64)) + 1j * r.standard_normal((3, 64))
    w = np.exp(-2j * np.pi * np.arange(32) / 64)
    return Case(3, 32, [inout(x.view(np.float64), np.fft.fft(x).view(np.float64), tol=(1e-13, 1e-13)), inp(w.view(np.float64))])


def softmax(r):
    x = (r.standard_normal((9, 70)) * 4).astype(np.float32)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return Case(3, 128, [out((e / e.sum(1, keepdims=True)).astype(np.float32), tol=(1e-9, 1e-5)), inp(x), i32(9), i32(70)], debug=True)


def edit_distance(r):
    n, o = 40, []
    a, b = r.integers(97, 101, (6, n)).astype(np.int8), r.integers(97, 101, (6, n)).astype(np.int8)
    b[0] = a[0]
    for x, y in zip(a, b):
        row = list(range(n + 1))
        for i in range(n):
            new = [i + 1]
            for j in range(n):
                new.append(min(new[-1] + 1, row[j + 1] + 1, row[j] + int(x[i] != y[j])))
            row = new
        o.append(row[-1])
    return Case(6, 64, [out(np.array(o, np.int32)), inp(a), inp(b), i32(n)])


def collatz(r):
    n, steps, top = 200, [], []
    for i in range(n):
        v, high, count = i + 1, i + 1, 0
        while v != 1:
            v = 3 * v + 1 if v & 1 else v // 2
            high, count = max(high, v), count + 1
        steps.append(count)
        top.append(high)
    return Case(4, 64, [out(np.array(steps, np.int32)), out(np.array(top, np.uint64)), i32(n)])


def number_theory(r):
    import math
    x = r.integers(1, 2**32, 60).astype(np.uint32)
    x[:4] = [12, 18, 97, 1]
    o = []
    for i in range(60):
        a, b = int(x[i]), int(x[(i + 1) % 60])
        c = a % 5000 + 2
        o.append([math.gcd(a, b), pow(a, b, 1000003), int(all(c % d for d in range(2, math.isqrt(c) + 1)))])
    return Case(2, 32, [out(np.array(o, np.uint32)), inp(x), i32(60)], debug=True)


def random_numbers(r):
    seed, o = 0x123456789ABCDEF, []
    for i in range(64):
        x, y, z, w = i + 1, 362436069, 521288629, 88675123
        for _ in range(20):
            t = (x ^ x << 11) & M32
            x, y, z, w = y, z, w, w ^ w >> 19 ^ t ^ t >> 8
        s = seed + i
        for _ in range(20):
            s = (s * 6364136223846793005 + 1442695040888963407) & M64
        c, key = [i, 0, 7, 9], [seed & M32, seed >> 32]
        for _ in range(10):
            p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [q >> 32 ^ c[1] ^ key[0], q & M32, p >> 32 ^ c[3] ^ key[1], p & M32]
            key = [key[0] + 0x9E3779B9 & M32, key[1] + 0xBB67AE85 & M32]
        o.append([w, s >> 33, *c])
    return Case(2, 32, [out(np.array(o, np.uint32)), u64(seed)])
