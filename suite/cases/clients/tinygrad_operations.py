"""More than a hundred operations of tinygrad on its CUDA back end, against numpy."""
import math

import numpy as np
from checks import CHECKS, main
from tinygrad import Device, Tensor, TinyJit, dtypes, nn

assert Device.DEFAULT == "CUDA", Device.DEFAULT
random = np.random.default_rng(5)


def draw(*shape):
    return random.standard_normal(shape).astype(np.float32)


a, b, c, d = draw(13, 37), draw(13, 37), draw(37, 21), draw(4, 13, 37)
positive, whole, other = np.abs(a) + 0.1, random.integers(-50, 50, (13, 37)).astype(np.int32), random.integers(1, 20, (13, 37)).astype(np.int32)
image, filters = draw(2, 4, 12, 14), draw(6, 4, 3, 3)
truth, row = a > 0, a[0]
A, B, C, D, POSITIVE, WHOLE, OTHER, IMAGE, FILTERS, TRUTH, ROW = (
    Tensor(x).realize() for x in (a, b, c, d, positive, whole, other, image, filters, truth, row)
)


def windows(x, k, step=1):
    return np.lib.stride_tricks.sliding_window_view(x, (k, k), (2, 3))[:, :, ::step, ::step]


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def erf(x):
    return np.vectorize(math.erf)(x)


def norm(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


sigmoid = 1 / (1 + np.exp(-a))
conv = np.einsum("nchwij,ocij->nohw", windows(image, 3), filters)
padded = np.pad(image, ((0, 0), (0, 0), (1, 1), (1, 1)))
q, k, v = draw(2, 3, 9, 16), draw(2, 3, 9, 16), draw(2, 3, 9, 16)
places = random.integers(0, 37, (13, 5))
half = a.astype(np.float16)
long = whole.astype(np.int64)

# Name: what tinygrad makes, what numpy does.
CASES = {
    "add": (lambda: A + B, a + b),
    "subtract": (lambda: A - B, a - b),
    "multiply": (lambda: A * B, a * b),
    "divide": (lambda: A / POSITIVE, a / positive),
    "by a number": (lambda: 3 - A * 2.5, 3 - a * 2.5),
    "row and matrix": (lambda: A + ROW, a + row),
    "column and matrix": (lambda: A * A[:, :1], a * a[:, :1]),
    "three dimensions and two": (lambda: D - A, d - a),
    "negate": (lambda: -A, -a),
    "absolute": (lambda: A.abs(), np.abs(a)),
    "sign": (lambda: A.sign(), np.sign(a)),
    "square": (lambda: A.square(), a * a),
    "square root": (lambda: POSITIVE.sqrt(), np.sqrt(positive)),
    "inverse square root": (lambda: POSITIVE.rsqrt(), 1 / np.sqrt(positive)),
    "reciprocal": (lambda: POSITIVE.reciprocal(), 1 / positive),
    "exponential": (lambda: A.exp(), np.exp(a)),
    "two to the": (lambda: A.exp2(), np.exp2(a)),
    "logarithm": (lambda: POSITIVE.log(), np.log(positive)),
    "logarithm of two": (lambda: POSITIVE.log2(), np.log2(positive)),
    "sine": (lambda: A.sin(), np.sin(a)),
    "sine far out": (lambda: (A * 1000).sin(), np.sin((a * 1000).astype(np.float32).astype(float))),
    "cosine": (lambda: A.cos(), np.cos(a)),
    "tangent": (lambda: (A * 0.3).tan(), np.tan(a * np.float32(0.3))),
    "hyperbolic tangent": (lambda: A.tanh(), np.tanh(a)),
    "hyperbolic sine": (lambda: A.sinh(), np.sinh(a)),
    "arc sine": (lambda: (A.sin() * 0.9).asin(), np.arcsin(np.sin(a) * 0.9)),
    "arc tangent": (lambda: A.atan(), np.arctan(a)),
    "power": (lambda: POSITIVE**1.7, positive**1.7),
    "power of tensors": (lambda: POSITIVE**B, positive**b),
    "error function": (lambda: A.erf(), erf(a)),
    "floor": (lambda: (A * 5).floor(), np.floor(a * 5)),
    "ceiling": (lambda: (A * 5).ceil(), np.ceil(a * 5)),
    "round to even": (lambda: (WHOLE * 0.5).round(), np.round(whole * 0.5)),
    "truncate": (lambda: (A * 5).trunc(), np.trunc(a * 5)),
    "fused": (lambda: (A * B + A).exp() / (B.abs() + 1), np.exp(a * b + a) / (np.abs(b) + 1)),
    "relu": (lambda: A.relu(), np.maximum(a, 0)),
    "sigmoid": (lambda: A.sigmoid(), sigmoid),
    "silu": (lambda: A.silu(), a * sigmoid),
    "gelu": (lambda: A.gelu(), 0.5 * a * (1 + np.tanh(np.sqrt(2 / np.pi) * (a + 0.044715 * a**3)))),
    "leaky relu": (lambda: A.leaky_relu(0.1), np.where(a > 0, a, 0.1 * a)),
    "elu": (lambda: A.elu(), np.where(a > 0, a, np.exp(a) - 1)),
    "softplus": (lambda: A.softplus(), np.log1p(np.exp(a))),
    "hard swish": (lambda: A.hardswish(), a * np.clip(a + 3, 0, 6) / 6),
    "clip": (lambda: A.clip(-0.5, 0.7), np.clip(a, -0.5, 0.7)),
    "greater of two": (lambda: A.maximum(B), np.maximum(a, b)),
    "lesser of two": (lambda: A.minimum(B), np.minimum(a, b)),
    "equal": (lambda: WHOLE == OTHER, whole == other),
    "not equal": (lambda: WHOLE != OTHER, whole != other),
    "less": (lambda: A < B, a < b),
    "greater or equal": (lambda: A >= B, a >= b),
    "where": (lambda: TRUTH.where(A, B), np.where(truth, a, b)),
    "where of numbers": (lambda: TRUTH.where(1, -1), np.where(truth, 1, -1)),
    "not": (lambda: TRUTH.logical_not(), ~truth),
    "is not a number": (lambda: A.log().isnan(), a < 0),
    "sum": (lambda: A.sum(), a.sum()),
    "sum of columns": (lambda: A.sum(0), a.sum(0)),
    "sum of two axes": (lambda: D.sum((0, 2)), d.sum((0, 2))),
    "kept axes": (lambda: D.sum(1, keepdim=True), d.sum(1, keepdims=True)),
    "mean": (lambda: A.mean(1), a.mean(1)),
    "variance": (lambda: A.var(1), a.var(1, ddof=1)),
    "deviation": (lambda: A.std(0), a.std(0, ddof=1)),
    "highest": (lambda: A.max(1), a.max(1)),
    "lowest": (lambda: D.min((0, 1)), d.min((0, 1))),
    "product of a row": (lambda: (A * 0.1 + 1).prod(1), (a * np.float32(0.1) + 1).prod(1)),
    "any": (lambda: (A > 2).any(1), (a > 2).any(1)),
    "all": (lambda: (A > -2).all(0), (a > -2).all(0)),
    "place of the highest": (lambda: A.argmax(1), a.argmax(1)),
    "place of the lowest": (lambda: A.argmin(0), a.argmin(0)),
    "log of sums": (lambda: A.logsumexp(1), np.log(np.exp(a).sum(1))),
    "softmax": (lambda: A.softmax(), softmax(a)),
    "softmax of columns": (lambda: A.softmax(0), softmax(a, 0)),
    "logs of softmax": (lambda: A.log_softmax(), np.log(softmax(a))),
    "running sum": (lambda: A.cumsum(1), a.cumsum(1)),
    "long running sum": (lambda: Tensor.ones(3000).contiguous().cumsum(0), np.arange(1, 3001)),
    "running highest": (lambda: A.cummax(1)[0] if isinstance(A.cummax(1), tuple) else A.cummax(1), np.maximum.accumulate(a, 1)),
    "running product": (lambda: (A * 0.1 + 1).cumprod(1), (a * np.float32(0.1) + 1).cumprod(1)),
    "product": (lambda: A @ C, a @ c),
    "product of batches": (lambda: D @ C, d @ c),
    "product with a vector": (lambda: A @ C[:, 0], a @ c[:, 0]),
    "dot": (lambda: ROW.dot(B[0]), row @ b[0]),
    "transposed product": (lambda: A.T @ B, a.T @ b),
    "einsum": (lambda: Tensor.einsum("bij,jk->bki", D, C), np.einsum("bij,jk->bki", d, c)),
    "product of halves": (lambda: (A.half() @ C.half()).float(), half.astype(np.float32) @ c.astype(np.float16).astype(np.float32)),
    "product of whole numbers": (lambda: WHOLE @ OTHER.T, whole @ other.T),
    "large product": (lambda: A.repeat((8, 4)) @ C.repeat((4, 6)), np.tile(a, (8, 4)) @ np.tile(c, (4, 6))),
    "convolution": (lambda: IMAGE.conv2d(FILTERS), conv),
    "convolution with edges": (lambda: IMAGE.conv2d(FILTERS, padding=1), np.einsum("nchwij,ocij->nohw", windows(padded, 3), filters)),
    "convolution in steps": (lambda: IMAGE.conv2d(FILTERS, stride=2), conv[:, :, ::2, ::2]),
    "convolution in groups": (
        lambda: IMAGE.conv2d(FILTERS[:, :2], groups=2),
        np.concatenate([np.einsum("nchwij,ocij->nohw", windows(image[:, 2 * g : 2 * g + 2], 3), filters[3 * g : 3 * g + 3, :2]) for g in range(2)], 1),
    ),
    "highest of windows": (lambda: IMAGE.max_pool2d(2), windows(image, 2, 2).max((-1, -2))),
    "mean of windows": (lambda: IMAGE.avg_pool2d(2), windows(image, 2, 2).mean((-1, -2))),
    "layer norm": (lambda: A.layernorm(), norm(a, 1)),
    "batch norm": (lambda: nn.BatchNorm(4, track_running_stats=False)(IMAGE), norm(image, (0, 2, 3))),
    "group norm": (lambda: nn.GroupNorm(2, 4)(IMAGE), norm(image.reshape(2, 2, 2, 12, 14), (2, 3, 4)).reshape(image.shape)),
    "rms norm": (lambda: nn.RMSNorm(37)(A), a / np.sqrt((a * a).mean(1, keepdims=True) + 1e-6)),
    "attention": (
        lambda: Tensor(q).scaled_dot_product_attention(Tensor(k), Tensor(v)),
        softmax(q @ k.swapaxes(2, 3) / 4) @ v,
    ),
    "causal attention": (
        lambda: Tensor(q).scaled_dot_product_attention(Tensor(k), Tensor(v), is_causal=True),
        softmax(np.where(np.tri(9, dtype=bool), q @ k.swapaxes(2, 3) / 4, -np.inf)) @ v,
    ),
    "transpose": (lambda: A.T.contiguous(), a.T),
    "permute": (lambda: D.permute(2, 0, 1) + 0, d.transpose(2, 0, 1)),
    "reshape": (lambda: D.reshape(13, -1) * 1, d.reshape(13, -1)),
    "expand": (lambda: ROW.expand(5, 37) + 0, np.broadcast_to(row, (5, 37))),
    "slice": (lambda: A[2:9, 5:30:4] + 0, a[2:9, 5:30:4]),
    "backwards": (lambda: A[::-1, ::-2] + 0, a[::-1, ::-2]),
    "flip": (lambda: D.flip((0, 2)) + 0, d[::-1, :, ::-1]),
    "pad": (lambda: A.pad(((1, 2), (0, 3)), value=7), np.pad(a, ((1, 2), (0, 3)), constant_values=7)),
    "shrink": (lambda: A.shrink(((1, 5), (2, 36))) + 0, a[1:5, 2:36]),
    "join": (lambda: A.cat(B, A, dim=1), np.concatenate([a, b, a], 1)),
    "stack": (lambda: Tensor.stack(A, B, dim=1), np.stack([a, b], 1)),
    "split": (lambda: A.split(20, 1)[1] + 0, a[:, 20:]),
    "repeat": (lambda: A.repeat((2, 3)), np.tile(a, (2, 3))),
    "roll": (lambda: A.roll(5, 1), np.roll(a, 5, 1)),
    "lower triangle": (lambda: A.tril(), np.tril(a)),
    "upper triangle": (lambda: A.triu(1), np.triu(a, 1)),
    "gather": (lambda: A.gather(1, Tensor(places)), np.take_along_axis(a, places, 1)),
    "rows by number": (lambda: A[Tensor([3, 0, 12, 3])], a[[3, 0, 12, 3]]),
    "one hot": (lambda: Tensor([2, 0, 4]).one_hot(5), np.eye(5)[[2, 0, 4]]),
    "embedding": (lambda: Tensor([[1, 2], [12, 0]]).one_hot(13).float() @ A, a[[[1, 2], [12, 0]]]),
    "sort": (lambda: A.sort(1)[0], np.sort(a, 1)),
    "places of a sort": (lambda: ROW.sort(0, descending=True)[1], np.argsort(-row)),
    "best": (lambda: A.topk(5, 1)[0], -np.sort(-a, 1)[:, :5]),
    "whole numbers": (lambda: WHOLE * OTHER - WHOLE, whole * other - whole),
    "whole division": (lambda: WHOLE // OTHER, whole // other),
    "remainder": (lambda: WHOLE % OTHER, whole % other),
    "and": (lambda: WHOLE & OTHER, whole & other),
    "or": (lambda: WHOLE | OTHER, whole | other),
    "exclusive or": (lambda: WHOLE ^ OTHER, whole ^ other),
    "shift to the left": (lambda: WHOLE.cast(dtypes.uint32) << 3, whole.astype(np.uint32) << 3),
    "shift to the right": (lambda: OTHER >> 2, other >> 2),
    "complement": (lambda: ~WHOLE, ~whole),
    "long numbers": (lambda: WHOLE.cast(dtypes.int64) * 12345678901, long * 12345678901),
    "bytes wrap": (lambda: (WHOLE.cast(dtypes.uint8) * 7), (whole.astype(np.uint8) * np.uint8(7))),
    "to whole": (lambda: (A * 10).cast(dtypes.int32), (a * 10).astype(np.int32)),
    "to half and back": (lambda: A.half().contiguous().float(), half.astype(np.float32)),
    "halves": (lambda: (A.half() + B.half()).float(), (half + b.astype(np.float16)).astype(np.float32)),
    "doubles": (lambda: A.cast(dtypes.float64) * 1.1 + B.cast(dtypes.float64), a.astype(float) * 1.1 + b.astype(float)),
    "bits of floats": (lambda: A.bitcast(dtypes.int32), a.view(np.int32)),
    "truth to number": (lambda: TRUTH.cast(dtypes.int32).sum(), truth.sum()),
    "range": (lambda: Tensor.arange(5, 500, 7) + OTHER[0, 0], np.arange(5, 500, 7) + other[0, 0]),
    "identity": (lambda: Tensor.eye(37) * ROW, np.eye(37) * row),
    "full": (lambda: Tensor.full((3, 4), 2.5).contiguous(), np.full((3, 4), 2.5)),
    "cross entropy": (
        lambda: A.sparse_categorical_crossentropy(Tensor(places[:, 0])),
        -np.log(softmax(a)[np.arange(13), places[:, 0]]).mean(),
    ),
    "entropy of two": (lambda: A.sigmoid().binary_crossentropy(TRUTH.float()), -np.log(np.where(truth, sigmoid, 1 - sigmoid)).mean()),
    "unfolded image": (lambda: IMAGE.interpolate((24, 28), mode="nearest"), image.repeat(2, 2).repeat(2, 3)),
}
LOOSE = {"product of halves": 2e-2, "halves": 0, "sine far out": 2e-4, "doubles": 1e-12}


def compared(name, made, want):
    def one():
        got, tolerance = made().numpy(), LOOSE.get(name, 3e-5)
        if got.dtype.kind in "iub":
            assert got.shape == np.shape(want) and (got == want).all()
        else:
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)

    return one


for name, (made, want) in CASES.items():
    CHECKS[name.replace(" ", "_")] = compared(name, made, want)


def gradients():
    x, w = Tensor(a), Tensor(c)
    along_x, along_w = (x @ w).tanh().sum().gradient(x, w)
    slope = 1 - np.tanh(a @ c) ** 2
    np.testing.assert_allclose(along_x.numpy(), slope @ c.T, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(along_w.numpy(), a.T @ slope, rtol=1e-3, atol=1e-4)


def replayed():
    step = TinyJit(lambda x: ((x @ C).relu().softmax() * 2).realize())
    for _ in range(5):
        x = draw(13, 37)
        np.testing.assert_allclose(step(Tensor(x).realize()).numpy(), softmax(np.maximum(x @ c, 0)) * 2, rtol=1e-4, atol=1e-5)


def written_in_place():
    x = Tensor.zeros(6, 7).contiguous().realize()
    x[2:4, 1:6] = 3
    x += 1
    want = np.ones((6, 7))
    want[2:4, 1:6] = 4
    assert (x.numpy() == want).all()


def random_numbers():
    Tensor.manual_seed(3)
    x = Tensor.rand(20000).numpy()
    assert 0 <= x.min() and x.max() < 1 and abs(x.mean() - 0.5) < 0.01 and abs(x.var() - 1 / 12) < 0.005


for function in (gradients, replayed, written_in_place, random_numbers):
    CHECKS[function.__name__] = function

main()
