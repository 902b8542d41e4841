"""cuda.core and cuda.bindings: compiled by NVRTC, launched, timed, linked, captured, with memory of all kinds."""
import ctypes

import numpy as np
from checks import check, main
from cuda.bindings import driver
from cuda.core import (Device, DeviceMemoryResource, DeviceMemoryResourceOptions, EventOptions, LaunchConfig, LegacyPinnedMemoryResource,
                       Linker, LinkerOptions, Program, ProgramOptions, launch)

SOURCE = r"""
extern "C" __global__ void axpy(float a, const float *x, const float *y, float *o, size_t n) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) o[i] = a * x[i] + y[i];
}
template <typename T> __global__ void product(const T *a, const T *b, T *c, int n) {
  __shared__ T x[16][16], y[16][16];
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  T sum = 0;
  for (int k = 0; k < n; k += 16) {
    x[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
    y[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
    __syncthreads();
    for (int j = 0; j < 16; j++) sum += x[threadIdx.y][j] * y[j][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
__device__ int counter;
__constant__ float table[4] = {1, 2, 3, 4};
extern "C" __global__ void mixed(float *o) {
  atomicAdd(&counter, 1);
  o[threadIdx.x] = table[threadIdx.x % 4] + __shfl_xor_sync(~0u, (float)threadIdx.x, 1);
}
"""
device = Device()
device.set_current()
stream = device.create_stream()
ARCH = "sm_" + "".join(map(str, device.compute_capability))
random = np.random.default_rng(0)


def called(result):
    assert int(result[0]) == 0, result[0]
    return result[1] if len(result) > 1 else None


def up(array):
    buffer = device.allocate(array.nbytes, stream=stream)
    stream.sync()
    called(driver.cuMemcpyHtoD(int(buffer.handle), array.ctypes.data, array.nbytes))
    return buffer


def down(buffer, like):
    stream.sync()
    to = np.zeros_like(like)
    called(driver.cuMemcpyDtoH(to.ctypes.data, int(buffer.handle), to.nbytes))
    return to


def compiled(**options):
    options = ProgramOptions(std="c++17", arch=ARCH, **options)
    return Program(SOURCE, code_type="c++", options=options).compile("ptx", name_expressions=("product<float>",))


@check
def a_program():
    x, y = random.random(5001, np.float32), random.random(5001, np.float32)
    o = up(x)
    launch(stream, LaunchConfig(grid=10, block=256), compiled().get_kernel("axpy"), np.float32(2), up(x), up(y), o, np.uint64(5001))
    np.testing.assert_allclose(down(o, x), 2 * x + y, rtol=1e-6)


@check
def a_template():
    a, b = random.random((64, 64), np.float32), random.random((64, 64), np.float32)
    c = up(a)
    config = LaunchConfig(grid=(4, 4), block=(16, 16))
    launch(stream, config, compiled().get_kernel("product<float>"), up(a), up(b), c, np.int32(64))
    np.testing.assert_allclose(down(c, a), a @ b, rtol=1e-5)


@check
def constants_and_shuffles():
    o = up(np.zeros(32, np.float32))
    launch(stream, LaunchConfig(grid=1, block=32), compiled().get_kernel("mixed"), o)
    t = np.arange(32)
    np.testing.assert_array_equal(down(o, np.zeros(32, np.float32)), np.array([1, 2, 3, 4])[t % 4] + (t ^ 1))


@check
def attributes_of_a_kernel():
    kernel = compiled().get_kernel("axpy")
    most = kernel.attributes.max_threads_per_block
    assert (most() if callable(most) else most) == 1024 and kernel.num_arguments == 5
    assert kernel.occupancy.max_active_blocks_per_multiprocessor(256, 0) > 0


@check
def events():
    options = EventOptions(timing_enabled=True)
    first, second = stream.record(options=options), stream.record(options=options)
    second.sync()
    assert second - first >= 0
    other = device.create_stream()
    other.wait(second)
    other.sync()
    assert second.is_done


@check
def pinned_memory():
    pinned = LegacyPinnedMemoryResource().allocate(4096, stream=stream)
    (ctypes.c_float * 1024).from_address(int(pinned.handle))[3] = 5
    there = device.allocate(4096, stream=stream)
    there.copy_from(pinned, stream=stream)
    assert down(there, np.zeros(1024, np.float32))[3] == 5
    there.fill(7, stream=stream)
    assert (down(there, np.zeros(4096, np.uint8)) == 7).all()


@check
def two_pieces_are_linked():
    options = ProgramOptions(arch=ARCH, relocatable_device_code=True)
    texts = ('extern "C" __device__ int twice(int x) { return 2 * x; }',
             'extern "C" __device__ int twice(int); extern "C" __global__ void k(int *o) { o[threadIdx.x] = twice(threadIdx.x); }')
    parts = [Program(text, code_type="c++", options=options).compile("ptx") for text in texts]
    o = up(np.zeros(8, np.int32))
    kernel = Linker(*parts, options=LinkerOptions(arch=ARCH)).link("cubin").get_kernel("k")
    launch(stream, LaunchConfig(grid=1, block=8), kernel, o)
    np.testing.assert_array_equal(down(o, np.zeros(8, np.int32)), np.arange(8) * 2)


@check
def a_graph_is_captured():
    kernel, ones = compiled().get_kernel("axpy"), np.ones(100, np.float32)
    x, o = up(ones), up(ones)
    builder = device.create_graph_builder().begin_building()
    for _ in range(3):
        launch(builder, LaunchConfig(grid=1, block=128), kernel, np.float32(1), x, o, o, np.uint64(100))
    graph = builder.end_building().complete()
    graph.launch(stream)
    graph.launch(stream)
    assert (down(o, ones) == 7).all()


@check
def a_pool():
    pool = DeviceMemoryResource(device, options=DeviceMemoryResourceOptions(max_size=1 << 20))
    pool.allocate(1000, stream=stream).close(stream)
    stream.sync()


@check
def managed_memory():
    address = int(called(driver.cuMemAllocManaged(4096, 1)))
    host = (ctypes.c_float * 1024).from_address(address)
    host[0] = 4
    launch(stream, LaunchConfig(grid=1, block=32), compiled().get_kernel("axpy"), np.float32(2), address, address, address, np.uint64(32))
    stream.sync()
    assert host[0] == 12
    called(driver.cuMemFree(address))


@check
def rows_with_a_pitch():
    host = np.arange(64, dtype=np.uint8).reshape(8, 8)
    code, address, pitch = driver.cuMemAllocPitch(8, 8, 4)
    assert int(code) == 0
    copy = driver.CUDA_MEMCPY2D()
    copy.srcMemoryType, copy.srcHost, copy.srcPitch = driver.CUmemorytype.CU_MEMORYTYPE_HOST, host.ctypes.data, 8
    copy.dstMemoryType, copy.dstDevice, copy.dstPitch = driver.CUmemorytype.CU_MEMORYTYPE_DEVICE, address, pitch
    copy.WidthInBytes = copy.Height = 8
    called(driver.cuMemcpy2D(copy))
    row = np.zeros(8, np.uint8)
    called(driver.cuMemcpyDtoH(row.ctypes.data, int(address) + 3 * pitch, 8))
    assert (row == host[3]).all()
    called(driver.cuMemFree(address))


main()
