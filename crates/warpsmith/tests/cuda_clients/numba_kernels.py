"""Numba's kernels, against numpy: shared memory, atomics, warps, its own reduction, streams, memory of both sides."""
import math
import sys

import numpy as np
from numba import cuda, float32

random = np.random.default_rng(1)


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


@cuda.jit
def product(a, b, c):
    x, y = cuda.shared.array((8, 8), float32), cuda.shared.array((8, 8), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    i, j = cuda.grid(2)
    total = float32(0)
    for k in range(0, a.shape[1], 8):
        x[ty, tx] = a[j, k + tx]
        y[ty, tx] = b[k + ty, i]
        cuda.syncthreads()
        for n in range(8):
            total += x[ty, n] * y[n, tx]
        cuda.syncthreads()
    c[j, i] = total


@cuda.jit
def count(values, bins):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(bins, values[i], 1)


@cuda.jit
def warps(out):
    t = cuda.threadIdx.x
    value = t
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
    out[t] = value
    out[32 + t] = int(math.sqrt(float(t * t)))


@cuda.jit
def increase(a):
    a[cuda.threadIdx.x] += 1


@cuda.jit
def beyond(a):
    a[cuda.threadIdx.x] = 1


@cuda.reduce
def total(a, b):
    return a + b


if sys.argv[1:] == ["beyond"]:
    values = cuda.device_array(31, np.float32)
    beyond[1, 32](values)
    cuda.synchronize()
    sys.exit()

a, b = random.random(10003).astype(np.float32), random.random(10003).astype(np.float32)
c = np.zeros_like(a)
add[40, 256](a, b, c)
np.testing.assert_allclose(c, a + b)

m, n = random.random((24, 16)).astype(np.float32), random.random((16, 32)).astype(np.float32)
p = np.zeros((24, 32), np.float32)
product[(4, 3), (8, 8)](m, n, p)
np.testing.assert_allclose(p, m @ n, rtol=1e-5)

values = random.integers(0, 7, 3000).astype(np.int32)
bins = np.zeros(7, np.int32)
count[12, 256](values, bins)
assert (bins == np.bincount(values, minlength=7)).all()

out = np.zeros(64, np.int32)
warps[1, 32](out)
assert out[0] == sum(range(32)) and (out[32:] == np.arange(32)).all()

numbers = np.arange(1, 1000, dtype=np.float64)
assert total(numbers) == numbers.sum()

stream = cuda.stream()
pinned = cuda.pinned_array(64, np.float32)
pinned[:] = 3
there = cuda.to_device(pinned, stream=stream)
increase[1, 64, stream](there)
assert (there.copy_to_host(stream=stream) == 4).all() or stream.synchronize() is None
for both in (cuda.mapped_array(64, np.float32), cuda.managed_array(64, np.float32)):
    both[:] = 3
    increase[1, 64](both)
    cuda.synchronize()
    assert (both == 4).all()
print("numba right")
