"""tinygrad on its CUDA back end, against numpy: operations, a graph that is replayed, training."""
import os

import numpy as np
from tinygrad import Device, Tensor, TinyJit, dtypes, nn
from tinygrad.helpers import Context

random = np.random.default_rng(3)


def draw(*shape):
    return random.standard_normal(shape).astype(np.float32)


A, B, IMAGE, KERNEL = draw(17, 33), draw(33, 21), draw(2, 3, 10, 11), draw(5, 3, 3, 3)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def conv(x, k):
    out = np.zeros((x.shape[0], k.shape[0], x.shape[2] - 2, x.shape[3] - 2), np.float32)
    for i in range(3):
        for j in range(3):
            out += np.einsum("nchw,oc->nohw", x[:, :, i : i + out.shape[2], j : j + out.shape[3]], k[:, :, i, j])
    return out


CASES = {
    "add": (lambda: Tensor(A) + Tensor(A) * 2, A * 3),
    "matmul": (lambda: Tensor(A) @ Tensor(B), A @ B),
    "half": (lambda: (Tensor(A).half() @ Tensor(B).half()).float(), A.astype(np.float16) @ B.astype(np.float16)),
    "sum": (lambda: Tensor(A).sum(0), A.sum(0)),
    "max": (lambda: Tensor(A).max(1), A.max(1)),
    "softmax": (lambda: Tensor(A).softmax(), softmax(A)),
    "exp": (lambda: Tensor(A).exp(), np.exp(A)),
    "where": (lambda: (Tensor(A) > 0).where(Tensor(A), -1), np.where(A > 0, A, -1)),
    "transposed": (lambda: Tensor(A).T.contiguous() + 1, A.T + 1),
    "conv": (lambda: Tensor(IMAGE).conv2d(Tensor(KERNEL)), conv(IMAGE, KERNEL)),
    "cumsum": (lambda: Tensor(A).cumsum(1), A.cumsum(1)),
    "sorted": (lambda: Tensor(A[0]).sort()[0], np.sort(A[0])),
    "cast": (lambda: (Tensor(A) * 10).cast(dtypes.int32), (A * 10).astype(np.int32)),
}

assert Device.DEFAULT == "CUDA", Device.DEFAULT
for name, (made, want) in CASES.items():
    got = made().numpy()
    tolerance = 2e-2 if name == "half" else 2e-5
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=name)


@TinyJit
def step(x):
    return ((x @ Tensor(B)).relu() * 2 + 1).realize()


for _ in range(5):
    x = draw(17, 33)
    np.testing.assert_allclose(step(Tensor(x).realize()).numpy(), np.maximum(x @ B, 0) * 2 + 1, rtol=1e-4, atol=1e-4)

x, y = Tensor(draw(64, 4)), None
y = (x * Tensor([[1.0, -2.0, 3.0, 0.5]])).sum(1, keepdim=True).realize()
layer = nn.Linear(4, 1)
optimizer = nn.optim.SGD(nn.state.get_parameters(layer), lr=0.1)
with Context(TRAINING=1):
    for _ in range(12):
        optimizer.zero_grad()
        loss = (layer(x) - y).square().mean()
        loss.backward()
        optimizer.step()
assert loss.item() < 2, loss.item()
print("tinygrad", len(CASES), "right", os.environ.get("DEV"))
