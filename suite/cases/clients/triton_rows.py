"""Triton's kernels over rows and lists, against numpy: norms, softmax, losses, sums, sorts, scans, atomics, random numbers."""
import numpy as np
import triton.language as tl
from card import Numbers, near, triton, zeros
from checks import check, main
from triton.language.extra import libdevice

random = np.random.default_rng(2)


def draw(*shape):
    return random.standard_normal(shape).astype(np.float32)


@triton.jit
def add_kernel(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


@check
def sums_of_two():
    x, y = draw(5000), draw(5000)
    O = zeros(5000)
    add_kernel[(5,)](Numbers(x), Numbers(y), O, 5000, 1024)
    assert (O.get() == x + y).all()


@triton.jit
def softmax_kernel(x, o, rows, n, B: tl.constexpr):
    i = tl.arange(0, B)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=2):
        v = tl.load(x + row * n + i, i < n, other=-float("inf"))
        e = tl.exp(v - tl.max(v, 0))
        tl.store(o + row * n + i, e / tl.sum(e, 0), i < n)


@check
def softmax():
    x = draw(19, 300)
    O = zeros(19, 300)
    softmax_kernel[(4,)](Numbers(x), O, 19, 300, 512)
    e = np.exp(x.astype(float) - x.max(1, keepdims=True))
    near(O.get(), e / e.sum(1, keepdims=True), terms=300)


@triton.jit
def norm_kernel(x, w, b, o, means, scales, n, eps, B: tl.constexpr):
    row = tl.program_id(0)
    total, squares = tl.zeros((B,), tl.float32), tl.zeros((B,), tl.float32)
    for at in range(0, n, B):
        i = at + tl.arange(0, B)
        total += tl.load(x + row * n + i, i < n, other=0)
    mean = tl.sum(total, 0) / n
    for at in range(0, n, B):
        i = at + tl.arange(0, B)
        off = tl.where(i < n, tl.load(x + row * n + i, i < n, other=0) - mean, 0)
        squares += off * off
    scale = 1 / tl.sqrt(tl.sum(squares, 0) / n + eps)
    tl.store(means + row, mean)
    tl.store(scales + row, scale)
    for at in range(0, n, B):
        i = at + tl.arange(0, B)
        v = (tl.load(x + row * n + i, i < n, other=0) - mean) * scale
        tl.store(o + row * n + i, v * tl.load(w + i, i < n) + tl.load(b + i, i < n), i < n)


@triton.jit
def norm_back_kernel(x, w, dy, dx, dw, means, scales, n, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    mean, scale = tl.load(means + row), tl.load(scales + row)
    v = tl.where(i < n, (tl.load(x + row * n + i, i < n, other=0) - mean) * scale, 0)
    d = tl.load(dy + row * n + i, i < n, other=0)
    wd = d * tl.load(w + i, i < n, other=0)
    along, level = tl.sum(v * wd, 0) / n, tl.sum(wd, 0) / n
    tl.store(dx + row * n + i, (wd - v * along - level) * scale, i < n)
    tl.atomic_add(dw + i, d * v, i < n)


@check
def layer_norm_and_back():
    x, w, b, dy = draw(9, 200), draw(200), draw(200), draw(9, 200)
    X, W, O, MEANS, SCALES, DX, DW = Numbers(x), Numbers(w), zeros(9, 200), zeros(9), zeros(9), zeros(9, 200), zeros(200)
    norm_kernel[(9,)](X, W, Numbers(b), O, MEANS, SCALES, 200, 1e-5, 128)
    x, w, dy = x.astype(float), w.astype(float), dy.astype(float)
    scale = 1 / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    v = (x - x.mean(1, keepdims=True)) * scale
    near(O.get(), v * w + b, terms=50)
    norm_back_kernel[(9,)](X, W, Numbers(dy.astype(np.float32)), DX, DW, MEANS, SCALES, 200, 256)
    wd = dy * w
    near(DX.get(), (wd - v * (v * wd).mean(1, keepdims=True) - wd.mean(1, keepdims=True)) * scale, terms=200)
    near(DW.get(), (dy * v).sum(0), terms=50)


@triton.jit
def rms_kernel(x, w, o, n, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * n + i, i < n, other=0).to(tl.float32)
    v = v * tl.rsqrt(tl.sum(v * v, 0) / n + 1e-6) * tl.load(w + i, i < n, other=0)
    tl.store(o + row * n + i, v.to(tl.float16), i < n)


@check
def rms_norm():
    x, w = draw(7, 90).astype(np.float16), draw(90)
    O = zeros(7, 90, dtype=np.float16)
    rms_kernel[(7,)](Numbers(x), Numbers(w), O, 90, 128)
    x = x.astype(float)
    near(O.get(), x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6) * w, eps=2.0**-12)


@triton.jit
def dropout_kernel(x, o, n, p, seed, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    kept = tl.rand(seed, i) > p
    tl.store(o + i, tl.where(kept, tl.load(x + i, i < n) / (1 - p), 0.0), i < n)


def philox(seed, counters):
    """The first word of Philox 4x32-10."""
    c = [counters.astype(np.uint64)] + [np.zeros(len(counters), np.uint64)] * 3
    key = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)]
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ key[0], b & low, (a >> np.uint64(32)) ^ c[3] ^ key[1], a & low]
        key = [(key[0] + np.uint64(0x9E3779B9)) & low, (key[1] + np.uint64(0xBB67AE85)) & low]
    return c[0].astype(np.uint32)


@check
def dropout():
    x = draw(3000)
    O = zeros(3000)
    dropout_kernel[(3,)](Numbers(x), O, 3000, 0.3, 1234, 1024)
    words = philox(1234, np.arange(3000)).view(np.int32).astype(np.int64)
    uniform = np.where(words < 0, -words - 1, words) * np.float32(4.6566127342e-10)
    near(O.get(), np.where(uniform > np.float32(0.3), x / (1 - np.float32(0.3)), 0))


@triton.jit
def entropy_kernel(x, labels, losses, dx, n, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    v, label = tl.load(x + row * n + i, i < n, other=-float("inf")), tl.load(labels + row)
    highest = tl.max(v, 0)
    e = tl.exp(v - highest)
    total = tl.sum(e, 0)
    tl.store(losses + row, tl.log(total) + highest - tl.load(x + row * n + label))
    tl.store(dx + row * n + i, e / total - tl.where(i == label, 1.0, 0.0), i < n)


@check
def cross_entropy():
    x, labels = draw(11, 77) * 3, random.integers(0, 77, 11).astype(np.int64)
    LOSSES, DX = zeros(11), zeros(11, 77)
    entropy_kernel[(11,)](Numbers(x), Numbers(labels), LOSSES, DX, 77, 128)
    e = np.exp(x.astype(float))
    p = e / e.sum(1, keepdims=True)
    near(LOSSES.get(), -np.log(p[np.arange(11), labels]), terms=77)
    near(DX.get(), p - np.eye(77)[labels], terms=77)


@triton.jit
def rotary_kernel(x, o, T, base, D: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, D // 2)
    angle = row % T * tl.exp2(i.to(tl.float32) * (-2.0 / D) * tl.log2(base))
    a, b = tl.load(x + row * D + 2 * i), tl.load(x + row * D + 2 * i + 1)
    tl.store(o + row * D + tl.arange(0, D), tl.interleave(a * tl.cos(angle) - b * tl.sin(angle), a * tl.sin(angle) + b * tl.cos(angle)))


@check
def rotary():
    x = draw(3 * 20, 64)
    O = zeros(60, 64)
    rotary_kernel[(60,)](Numbers(x), O, 20, 10000.0, 64)
    angle = (np.arange(60) % 20)[:, None] * 10000.0 ** (-2.0 * np.arange(32) / 64)
    turned = (x[:, ::2] + 1j * x[:, 1::2]) * np.exp(1j * angle)
    near(O.get(), np.stack([turned.real, turned.imag], -1).reshape(60, 64), terms=60)


@triton.jit
def reductions_kernel(x, o, places, R: tl.constexpr, C: tl.constexpr):
    v = tl.load(x + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])
    i = tl.arange(0, C)
    highest, where = tl.max(v, 0, return_indices=True)
    tl.store(o + i, tl.sum(v, 0))
    tl.store(o + C + i, highest)
    tl.store(o + 2 * C + i, tl.min(v, 0))
    tl.store(places + i, where)
    tl.store(places + C + i, tl.argmin(v, 0))
    tl.store(places + 2 * C + i, tl.xor_sum((v * 1000).to(tl.int32), 0))


@check
def reductions():
    x = draw(64, 32)
    O, PLACES = zeros(3, 32), zeros(3, 32, dtype=np.int32)
    reductions_kernel[(1,)](Numbers(x), O, PLACES, 64, 32)
    near(O.get()[0], x.astype(float).sum(0), terms=64)
    assert (O.host[1:] == [x.max(0), x.min(0)]).all()
    want = [x.argmax(0), x.argmin(0), np.bitwise_xor.reduce((x * np.float32(1000)).astype(np.int32), 0)]
    assert (PLACES.get() == want).all()


@triton.jit
def atomics_kernel(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v, m = tl.load(x + i, i < n, other=0), i < n
    tl.atomic_add(o + v % 4, 1, m)
    tl.atomic_max(o + 4 + v % 4, v, m)
    tl.atomic_min(o + 8 + v % 4, v, m)
    tl.atomic_or(o + 12 + v % 4, v, m)
    tl.atomic_xor(o + 16 + v % 4, v, m)


@triton.jit
def lock_kernel(lock, value, n):
    for _ in range(n):
        while tl.atomic_cas(lock, 0, 1) == 1:
            pass
        held = tl.load(value, volatile=True)
        # All lanes have loaded what one of them stores; Triton puts nothing between the two by itself.
        tl.debug_barrier()
        tl.store(value, held + 1)
        tl.debug_barrier()
        tl.atomic_xchg(lock, 0)


@check
def atomics():
    x = random.integers(0, 1 << 20, 3000).astype(np.int32)
    start = np.zeros((5, 4), np.int32)
    start[2] = 1 << 30
    O = Numbers(start)
    atomics_kernel[(3,)](Numbers(x), O, 3000, 1024)
    groups = [x[x % 4 == i] for i in range(4)]
    ops = [len, np.max, np.min, np.bitwise_or.reduce, np.bitwise_xor.reduce]
    assert (O.get() == [[op(group) for group in groups] for op in ops]).all()


@check
def a_lock():
    LOCK, VALUE = zeros(1, dtype=np.int32), zeros(1, dtype=np.int32)
    lock_kernel[(8,)](LOCK, VALUE, 5, num_warps=1)
    assert VALUE.get()[0] == 40, VALUE.host


@triton.jit
def follow(a, x, b, y):
    return a * b, x * b + y


@triton.jit
def scans_kernel(x, d, o, N: tl.constexpr):
    i = tl.arange(0, N)
    v, w = tl.load(x + i), tl.load(d + i)
    tl.store(o + i, tl.cumsum(v, 0))
    tl.store(o + N + i, tl.cumsum(v, 0, reverse=True))
    tl.store(o + 2 * N + i, tl.cumprod(1 + w * 0.01, 0))
    _, state = tl.associative_scan((w, v), 0, follow)
    tl.store(o + 3 * N + i, state)


@check
def scans():
    x, d = draw(512), random.uniform(0, 1, 512).astype(np.float32)
    O = zeros(4, 512)
    scans_kernel[(1,)](Numbers(x), Numbers(d), O, 512)
    state, states = 0.0, []
    for decay, value in zip(d.astype(float), x.astype(float)):
        state = state * decay + value
        states.append(state)
    want = [np.cumsum(x.astype(float)), np.cumsum(x[::-1].astype(float))[::-1], np.cumprod(1 + d * 0.01), states]
    for got, one in zip(O.get(), want):
        near(got, one, terms=512)


@triton.jit
def sorts_kernel(x, o, best, R: tl.constexpr, C: tl.constexpr, K: tl.constexpr):
    r, c = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    v = tl.load(x + r * C + c)
    tl.store(o + r * C + c, tl.sort(v))
    tl.store(o + R * C + r * C + c, tl.sort(v, descending=True))
    tl.store(best + r * K + tl.arange(0, K)[None, :], tl.topk(v, K))


@check
def sorts_and_the_best():
    x = draw(8, 128)
    O, BEST = zeros(2, 8, 128), zeros(8, 4)
    sorts_kernel[(1,)](Numbers(x), O, BEST, 8, 128, 4)
    want = np.sort(x, 1)
    assert (O.get() == [want, want[:, ::-1]]).all() and (BEST.get() == want[:, :-5:-1]).all()


@triton.jit
def histogram_kernel(x, o, n, B: tl.constexpr, BINS: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    counts = tl.histogram(tl.load(x + i, i < n, other=0), BINS, mask=i < n)
    tl.atomic_add(o + tl.arange(0, BINS), counts)


@check
def histogram():
    x = random.integers(0, 32, 5000).astype(np.int32)
    O = zeros(32, dtype=np.int32)
    histogram_kernel[(5,)](Numbers(x), O, 5000, 1024, 32)
    assert (O.get() == np.bincount(x, minlength=32)).all()


@triton.jit
def moves_kernel(x, places, o, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    v = tl.load(x + r * C + c)
    tl.store(o + r * C + c, tl.flip(v, 1))
    tl.store(o + R * C + r * C + c, tl.gather(v, tl.load(places + r * C + c), 1))
    tl.store(o + 2 * R * C + tl.arange(0, C)[:, None] * R + tl.arange(0, R)[None, :], tl.trans(v))
    even, odd = tl.split(tl.reshape(v, (R, C // 2, 2)))
    tl.store(o + 3 * R * C + r * C + c, tl.reshape(tl.join(odd, even), (R, C)))


@check
def flips_gathers_and_transposes():
    x, places = draw(16, 64), random.integers(0, 64, (16, 64)).astype(np.int32)
    O = zeros(4, 16, 64)
    moves_kernel[(1,)](Numbers(x), Numbers(places), O, 16, 64)
    got = O.get()
    assert (got[0] == x[:, ::-1]).all() and (got[1] == np.take_along_axis(x, places, 1)).all()
    assert (got[2].reshape(64, 16) == x.T).all()
    assert (got[3] == x.reshape(16, 32, 2)[:, :, ::-1].reshape(16, 64)).all()


@triton.jit
def functions_kernel(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    gate = v * tl.sigmoid(v)
    tl.store(o + i, gate)
    tl.store(o + n + i, 0.5 * v * (1 + tl.erf(v * 0.7071067811865476)))
    tl.store(o + 2 * n + i, libdevice.tanh(v))
    tl.store(o + 3 * n + i, libdevice.pow(tl.abs(v), 1.5))
    tl.store(o + 4 * n + i, tl.floor(v) + tl.ceil(v) * tl.fma(v, v, v))
    tl.store(o + 5 * n + i, libdevice.atan2(v, 2.0))


@check
def functions():
    from math import erf

    x = draw(256)
    O = zeros(6, 256)
    functions_kernel[(1,)](Numbers(x), O, 256, 256)
    x = x.astype(float)
    normal = np.array([0.5 * v * (1 + erf(v / 2**0.5)) for v in x])
    want = [x / (1 + np.exp(-x)), normal, np.tanh(x), np.abs(x) ** 1.5, np.floor(x) + np.ceil(x) * (x * x + x), np.arctan2(x, 2)]
    for got, one in zip(O.get(), want):
        near(got, one, terms=8)


@triton.jit
def search_kernel(sorted_values, x, o, n, STEPS: tl.constexpr, B: tl.constexpr):
    v = tl.load(x + tl.arange(0, B))
    low, high = tl.zeros((B,), tl.int32), tl.full((B,), n, tl.int32)
    step = 0
    while tl.max((low < high).to(tl.int32), 0) != 0 and step < STEPS:
        middle = (low + high) // 2
        less = tl.load(sorted_values + middle, (low < high) & (middle < n), other=0) < v
        low, high = tl.where((low < high) & less, middle + 1, low), tl.where((low < high) & ~less, middle, high)
        step += 1
    tl.store(o + tl.arange(0, B), low)


@check
def binary_search():
    values, x = np.sort(draw(1000)), draw(128)
    O = zeros(128, dtype=np.int32)
    search_kernel[(1,)](Numbers(values), Numbers(x), O, 1000, 20, 128)
    assert (O.get() == np.searchsorted(values, x)).all()


@triton.jit
def double_kernel(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, i < n, other=0)
    tl.store(o + i, tl.sqrt(v * v + 1) / 3.0, i < n)


@check
def doubles():
    x = random.standard_normal(700)
    O = zeros(700, dtype=np.float64)
    double_kernel[(3,)](Numbers(x), O, 700, 256)
    near(O.get(), np.sqrt(x * x + 1) / 3, eps=2.0**-52)


main()
