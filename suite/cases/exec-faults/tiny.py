"""A kernel of one's own among tinygrad's buffers: its lines count as lines of the Python file that has it."""
import inspect
import os
import sys

try:
    import nvidia.cuda_nvrtc

    os.environ.setdefault("NVRTC_PATH", next(iter(nvidia.cuda_nvrtc.__path__)) + "/lib/libnvrtc.so.12")
    from tinygrad import Device, Tensor
    from tinygrad.device import TinyELF
    from tinygrad.runtime.ops_cuda import CUDAProgram
    from tinygrad.runtime.support.compiler_cuda import NVRTCCompiler
except ImportError:
    sys.exit(77)

CLEAN = sys.argv[1:] == ["clean"]


def run(source, buffers, grid=1, block=32):
    caller = inspect.stack()[1]
    text = open(caller.filename).read()
    first = text[: text.index(source)].count("\n") + 1
    device = Device["CUDA"]
    compiler = NVRTCCompiler(device.arch)
    compiler.compile_options += ["-lineinfo", f"-DCLEAN={int(CLEAN)}"]
    code = compiler.compile(f'#line {first} "{caller.filename}"\n{source}')
    program = CUDAProgram(device, TinyELF(code, "kernel", device.renderer.target, ()))
    program(*[one.uop.buffer.ensure_allocated()._buf for one in buffers], global_size=(grid, 1, 1), local_size=(block, 1, 1))
    device.synchronize()
