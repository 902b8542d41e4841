"""Calls, local memory, constants."""
import numpy as np
from generate import Case, f32, i32, inout, inp, out, struct


def recursion(r):
    def fib(n):
        a, b = 0, 1
        for _ in range(n):
            a, b = b, a + b
        return a

    def ackermann(m, n):
        return [n + 1, n + 2, 2 * n + 3][m]

    want = [x for i in range(40) for x in (fib(i % 13), 1 - i % 2, ackermann(i % 3, i % 5))]
    return Case(1, 40, [out(np.array(want, np.int32))], debug=True)


def pointers(r):
    x = r.standard_normal(96).astype(np.float32)
    i = np.arange(96)
    n = (i % 7).astype(np.float32)
    f = np.choose(i % 3, [x * n, x + n, np.where(i % 7 % 2 == 1, -x, x)]).astype(np.float32)
    g = np.where(i % 5 < 2, 0, 2 * i + i + 1).astype(np.int32)
    return Case(3, 32, [out(f), out(g), inp(x)], debug=True)


def structs(r):
    kind = np.dtype([("a", "<i4"), ("b", "<f4"), ("c", "<f8", 3), ("d", "<i2"), ("pad", "<i2", 3)])
    n = 50
    s = np.zeros(n, kind)
    s["a"], s["b"], s["c"], s["d"] = r.integers(-100, 100, n), r.standard_normal(n), r.standard_normal((n, 3)), r.integers(-9, 9, n)
    t = r.integers(0, 256, (n, 2)).astype(np.uint8)
    want = s.copy()
    i = np.arange(n)
    want["a"] += i.astype(np.int32)
    want["c"][i, i % 3] += 1.5
    want["d"] -= i.astype(np.int16)
    want["b"] = s["b"] * np.float32(0.25)
    want["c"][:, 1] += 12345678901.0
    params = struct(8, np.int32(n), np.float32(0.25), np.int64(12345678901))
    as_bytes = lambda x: x.view(np.uint8)
    return Case(1, 64, [inout(as_bytes(s), as_bytes(want)), inout(t, t[:, ::-1].copy()), params], debug=True, lines=True)


def locals(r):
    n = 48
    a = r.integers(-5000, 5000, (n, 17)).astype(np.int32)
    order = r.integers(0, 256, 64).astype(np.uint8)
    s = np.sort(a, 1)
    want = np.zeros((n, 18), np.int32)
    want[:, :17] = s
    for i in range(n):
        total = 0
        for j in range(6):
            o = int(order[(i + j) % 64])
            h = np.int32(s[i, o % 8] * 3).astype(np.int16)
            total += int(h) + int(np.trunc(s[i, o % 4] * 0.5)) + int(s[i, o % 6].astype(np.int8))
        want[i, 17] = total
    return Case(3, 16, [out(want), inp(a), inp(order)], debug=True)


def constants(r):
    n = 70
    w = r.standard_normal(16).astype(np.float32)
    i = np.arange(n)
    steps = np.array([1, -2, 30000, 4])
    f = w[i % 16] * steps[i % 4].astype(np.float32)
    where = np.where(i & 1, 7, -2)
    g = where + np.array([7, -8, 900, -1000, 11])[i % 5] + np.array([-1, 2, -3])[i % 3] + 5 + 123
    d = 1.5707963267948966 * i
    u = np.array([0x123456789ABCDEF0 >> (x % 64) for x in range(n)], np.uint64)
    return Case(1, n, [out(f), out(g.astype(np.int32)), out(d), out(u)], globals_=[("weights", w)], lines=True)
