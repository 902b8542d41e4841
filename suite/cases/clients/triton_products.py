"""Triton's kernels around products, against numpy: dense, grouped, persistent, split, of all types, by tensor maps, attention."""
import numpy as np
import triton.language as tl
from card import TARGET, Numbers, bfloat, eighths, near, triton, zeros
from checks import check, main

random = np.random.default_rng(1)


def draw(*shape):
    return random.uniform(-1, 1, shape).astype(np.float32)


def halves(*shape):
    return draw(*shape).astype(np.float16)


@triton.jit
def product_kernel(a, b, c, M, N, K, sam, sak, sbk, sbn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
                   KIND: tl.constexpr):
    """Tiles of c in groups of rows, edges masked."""
    tile, rows, columns = tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = tile // (GROUP * columns) * GROUP
    height = min(rows - first, GROUP)
    row, column = first + tile % (GROUP * columns) % height, tile % (GROUP * columns) // height
    m, n, k = row * BM + tl.arange(0, BM), column * BN + tl.arange(0, BN), tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.int32 if KIND == "int" else tl.float32)
    for at in range(0, K, BK):
        x = tl.load(a + m[:, None] * sam + (at + k)[None, :] * sak, (m[:, None] < M) & ((at + k)[None, :] < K), other=0.0)
        y = tl.load(b + (at + k)[:, None] * sbk + n[None, :] * sbn, ((at + k)[:, None] < K) & (n[None, :] < N), other=0.0)
        if KIND == "exact":
            total = tl.dot(x, y, total, input_precision="ieee")
        elif KIND == "int":
            total = tl.dot(x, y, total, out_dtype=tl.int32)
        else:
            total = tl.dot(x, y, total)
    tl.store(c + m[:, None] * N + n[None, :], total, (m[:, None] < M) & (n[None, :] < N))


def product(a, b, want, eps, kind="", bits=None, blocks=(64, 64, 32), warps=4):
    (M, K), N = a.shape, b.shape[1]
    A, B = Numbers(a, bits), Numbers(b, bits)
    C = zeros(M, N, dtype=np.int32 if kind == "int" else np.float32)
    BM, BN, BK = blocks
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    product_kernel[grid](A, B, C, M, N, K, *A.strides, *B.strides, BM, BN, BK, 2, kind, num_warps=warps)
    near(C.get(), want, terms=K, eps=eps)


@check
def product_of_halves():
    a, b = halves(150, 96), halves(96, 130)
    product(a, b, a.astype(float) @ b.astype(float), 2.0**-23)


@check
def product_of_halves_by_eight_warps():
    a, b = halves(256, 128), halves(128, 128)
    product(a, b, a.astype(float) @ b.astype(float), 2.0**-23, blocks=(128, 128, 64), warps=8)


@check
def product_in_tf32():
    a, b = draw(128, 64), draw(64, 128)
    product(a, b, a.astype(float) @ b.astype(float), 2.0**-11)


@check
def product_of_singles():
    a, b = draw(70, 40), draw(40, 50)
    product(a, b, a.astype(float) @ b.astype(float), 2.0**-23, kind="exact", blocks=(32, 32, 16))


@check
def product_of_bfloats():
    (a, x), (b, y) = bfloat(draw(128, 64)), bfloat(draw(64, 128))
    product(a, b, x.astype(float) @ y.astype(float), 2.0**-23, bits="bf16")


@check
def product_of_bytes():
    a, b = (random.integers(-128, 128, shape).astype(np.int8) for shape in ((96, 128), (128, 80)))
    product(a, b, a.astype(int) @ b.astype(int), 0, kind="int", blocks=(32, 32, 64))


@check
def product_of_eighths():
    # Cards before sm_89 have no other kind.
    kind = "fp8e4nv" if TARGET >= 89 else "fp8e5"
    (a, x), (b, y) = eighths(random, (128, 128), kind), eighths(random, (128, 64), kind)
    product(a, b, x.astype(float) @ y.astype(float), 2.0**-13, bits=kind, blocks=(64, 64, 64))


@triton.jit
def persistent_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr):
    """Few programs, each of which takes every so-manieth tile."""
    columns = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * columns, tl.num_programs(0), flatten=True):
        m, n, k = tile // columns * BM + tl.arange(0, BM), tile % columns * BN + tl.arange(0, BN), tl.arange(0, BK)
        total = tl.zeros((BM, BN), tl.float32)
        for at in tl.range(0, K, BK, num_stages=STAGES):
            x = tl.load(a + m[:, None] * K + (at + k)[None, :])
            y = tl.load(b + (at + k)[:, None] * N + n[None, :])
            total = tl.dot(x, y, total)
        tl.store(c + m[:, None] * N + n[None, :], total.to(tl.float16))


@check
def persistent_product():
    a, b = halves(256, 64), halves(64, 192)
    A, B, C = Numbers(a), Numbers(b), zeros(256, 192, dtype=np.float16)
    persistent_kernel[(5,)](A, B, C, 256, 192, 64, 64, 64, 32, 3)
    near(C.get(), a.astype(float) @ b.astype(float), eps=2.0**-12)


@triton.jit
def grouped_kernel(addresses, sizes, groups, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Products of several sizes in one launch; addresses and sizes are numbers in memory."""
    tile = tl.program_id(0)
    end = 0
    for group in range(groups):
        M, N, K = tl.load(sizes + group * 3), tl.load(sizes + group * 3 + 1), tl.load(sizes + group * 3 + 2)
        columns = tl.cdiv(N, BN)
        tiles = tl.cdiv(M, BM) * columns
        while tile >= end and tile < end + tiles:
            a = tl.load(addresses + group * 3).to(tl.pointer_type(tl.float16))
            b = tl.load(addresses + group * 3 + 1).to(tl.pointer_type(tl.float16))
            c = tl.load(addresses + group * 3 + 2).to(tl.pointer_type(tl.float32))
            m = (tile - end) // columns * BM + tl.arange(0, BM)
            n = (tile - end) % columns * BN + tl.arange(0, BN)
            k = tl.arange(0, BK)
            total = tl.zeros((BM, BN), tl.float32)
            for at in range(0, K, BK):
                x = tl.load(a + m[:, None] * K + (at + k)[None, :], m[:, None] < M, other=0)
                y = tl.load(b + (at + k)[:, None] * N + n[None, :], n[None, :] < N, other=0)
                total = tl.dot(x, y, total)
            tl.store(c + m[:, None] * N + n[None, :], total, (m[:, None] < M) & (n[None, :] < N))
            tile += tl.num_programs(0)
        end += tiles


@check
def grouped_products():
    sizes = [(64, 96, 32), (100, 40, 64), (33, 128, 96)]
    pairs = [(halves(m, k), halves(k, n)) for m, n, k in sizes]
    arrays = [(Numbers(a), Numbers(b), zeros(len(a), b.shape[1])) for a, b in pairs]
    addresses = Numbers(np.array([[one.address for one in three] for three in arrays], np.int64))
    grouped_kernel[(4,)](addresses, Numbers(np.array(sizes, np.int32)), 3, 32, 32, 32)
    for (a, b), (_, _, c) in zip(pairs, arrays):
        near(c.get(), a.astype(float) @ b.astype(float), terms=a.shape[1])


@triton.jit
def split_kernel(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Programs share a tile: each takes some of K, and adds what it has."""
    m, n = tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for at in range(tl.program_id(1) * BK, K, BK * tl.num_programs(1)):
        k = at + tl.arange(0, BK)
        total = tl.dot(tl.load(a + m[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + n[None, :]), total)
    tl.atomic_add(c + m[:, None] * N + n[None, :], total, sem="relaxed")


@check
def split_product():
    a, b = halves(64, 512), halves(512, 128)
    C = zeros(64, 128)
    split_kernel[(2, 4)](Numbers(a), Numbers(b), C, 128, 512, 64, 64, 64)
    near(C.get(), a.astype(float) @ b.astype(float), terms=512)


@triton.jit
def described_kernel(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Boxes by descriptors that the host has made: tensor maps, where the card has them."""
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(a.load([m, k]), b.load([n, k]).T, total)
    c.store([m, n], total.to(tl.float16))


@check
def product_by_descriptors():
    from triton.tools.tensor_descriptor import TensorDescriptor

    a, b = halves(200, 96), halves(150, 96)
    A, B, C = Numbers(a), Numbers(b), zeros(200, 152, dtype=np.float16)
    described = [TensorDescriptor(x, list(x.shape), list(x.strides), [64, width]) for x, width in ((A, 32), (B, 32), (C, 64))]
    described_kernel[(4, 3)](*described, 96, 64, 64, 32)
    near(C.get()[:, :150], a.astype(float) @ b.astype(float).T, eps=2.0**-12)


@triton.jit
def boxes_kernel(x, y, BM: tl.constexpr, BN: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    y.store([n, m], (x.load([m, n]) * 2).T)


@check
def boxes_by_descriptors():
    from triton.tools.tensor_descriptor import TensorDescriptor

    x = draw(50, 72)
    X, Y = Numbers(x), zeros(72, 52)
    described = [TensorDescriptor(one, list(one.shape), list(one.strides), [16, 16]) for one in (X, Y)]
    boxes_kernel[(4, 5)](*described, 16, 16)
    assert (Y.get()[:, :50] == 2 * x.T).all()


@triton.jit
def attention_kernel(q, k, v, o, T, scale, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """Softmax of q k' times v without the matrix between: highest value and sum follow."""
    base = tl.program_id(1) * T * D
    m, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    x = tl.load(q + base + m[:, None] * D + d[None, :], m[:, None] < T, other=0)
    highest, total, out = tl.full((BM,), float("-inf"), tl.float32), tl.zeros((BM,), tl.float32), tl.zeros((BM, D), tl.float32)
    end = min(T, (tl.program_id(0) + 1) * BM) if CAUSAL else T
    for at in range(0, end, BN):
        n = at + tl.arange(0, BN)
        keys = tl.load(k + base + n[None, :] * D + d[:, None], n[None, :] < T, other=0)
        seen = (n[None, :] < T) & ((m[:, None] >= n[None, :]) if CAUSAL else (n[None, :] < T))
        scores = tl.where(seen, tl.dot(x, keys) * (scale * 1.4426950408889634), float("-inf"))
        higher = tl.maximum(highest, tl.max(scores, 1))
        weights, old = tl.exp2(scores - higher[:, None]), tl.exp2(highest - higher)
        values = tl.load(v + base + n[:, None] * D + d[None, :], n[:, None] < T, other=0)
        out = tl.dot(weights.to(tl.float16), values, out * old[:, None])
        highest, total = higher, total * old + tl.sum(weights, 1)
    tl.store(o + base + m[:, None] * D + d[None, :], out / total[:, None], m[:, None] < T)


def attention(causal, blocks):
    H, T, D = 2, 100, 64
    q, k, v = halves(H, T, D), halves(H, T, D), halves(H, T, D)
    O = zeros(H, T, D)
    attention_kernel[(triton.cdiv(T, blocks[0]), H)](Numbers(q), Numbers(k), Numbers(v), O, T, D**-0.5, causal, *blocks, D)
    scores = np.einsum("htd,hsd->hts", q.astype(float), k.astype(float)) * D**-0.5
    if causal:
        scores = np.where(np.tri(T, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    near(O.get(), weights / weights.sum(-1, keepdims=True) @ v.astype(float), eps=2.0**-12)


@check
def attention_of_all():
    attention(False, (64, 64))


@check
def attention_of_what_came_before():
    attention(True, (64, 32))


@triton.jit
def convolution_kernel(x, w, y, C, H, W, OH, OW, F, KH: tl.constexpr, KW: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                       BK: tl.constexpr):
    """Images of (H, W, C): places times filters, over windows and channels."""
    m, n, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    row, column = m // OW, m % OW
    total = tl.zeros((BM, BN), tl.float32)
    for i in tl.static_range(KH):
        for j in tl.static_range(KW):
            for at in range(0, C, BK):
                place = ((row + i) * W + column + j) * C
                inside = (m < OH * OW)[:, None] & (at + k < C)[None, :]
                a = tl.load(x + place[:, None] + (at + k)[None, :], inside, other=0)
                b = tl.load(w + ((i * KW + j) * C + at + k)[:, None] * F + n[None, :], (at + k < C)[:, None] & (n < F)[None, :], other=0)
                total = tl.dot(a, b, total)
    tl.store(y + m[:, None] * F + n[None, :], total, (m < OH * OW)[:, None] & (n < F)[None, :])


@check
def convolution():
    x, w = halves(12, 11, 20), halves(3, 3, 20, 24)
    Y = zeros(10 * 9, 24)
    convolution_kernel[(3, 1)](Numbers(x), Numbers(w), Y, 20, 12, 11, 10, 9, 24, 3, 3, 32, 32, 32)
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(float), (3, 3), (0, 1))
    near(Y.get(), np.einsum("hwcij,ijcf->hwf", windows, w.astype(float)).reshape(90, 24), terms=180)


@triton.jit
def dot_products_kernel(a, b, c, n, B: tl.constexpr):
    """Four bytes of a word times four, by an instruction of PTX."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    x, y = tl.load(a + i, i < n, other=0), tl.load(b + i, i < n, other=0)
    dots = tl.inline_asm_elementwise("dp4a.s32.s32 $0, $1, $2, 0;", "=r,r,r", [x, y], tl.int32, True, 1)
    tl.store(c + i, dots, i < n)


@check
def dot_products_of_four_bytes():
    a, b = (random.integers(-128, 128, (300, 4)).astype(np.int8) for _ in range(2))
    C = zeros(300, dtype=np.int32)
    dot_products_kernel[(3,)](Numbers(a.view(np.int32)), Numbers(b.view(np.int32)), C, 300, 128)
    assert (C.get() == (a.astype(int) * b.astype(int)).sum(1)).all()


@triton.jit
def scaled_kernel(a, sa, b, sb, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k, g = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K), tl.arange(0, K // 32)
    x, y = tl.load(a + m[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + n[None, :])
    sx, sy = tl.load(sa + m[:, None] * (K // 32) + g[None, :]), tl.load(sb + n[:, None] * (K // 32) + g[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot_scaled(x, sx, "e5m2", y, sy, "e5m2"))


@check
def product_with_scales_of_blocks():
    (a, x), (b, y) = eighths(random, (128, 64), "fp8e5"), eighths(random, (64, 64), "fp8e5")
    sa, sb = (random.integers(124, 130, (rows, 2)).astype(np.uint8) for rows in (128, 64))
    C = zeros(128, 64)
    scaled_kernel[(1,)](Numbers(a, "fp8e5"), Numbers(sa), Numbers(b, "fp8e5"), Numbers(sb), C, 128, 64, 64)
    x = x.astype(float) * np.repeat(2.0 ** (sa.astype(int) - 127), 32, 1)
    y = y.astype(float) * np.repeat(2.0 ** (sb.astype(int) - 127), 32, 1).T
    near(C.get(), x @ y, terms=64, eps=2.0**-13)


main()
