"""Kernels checked and run: right ones compute, wrong ones are told with their lines, arguments that do not fit are refused."""

from __future__ import annotations

import struct
import time
from types import SimpleNamespace

import numpy as np
import pytest

from kernels import ENDLESS, PARAMS, SAXPY, TICKET, TRAP, UNGUARDED
from warpsmith import ptx
from warpsmith.errors import (
    FindingsError,
    InputError,
    KernelFault,
    PtxError,
    UnsupportedError,
    WarpsmithError,
)


def vectors(n: int = 1000):
    rng = np.random.default_rng(1)
    return rng.random(n, np.float32), rng.random(n, np.float32)


@pytest.mark.parametrize("check", [True, False])
def test_arrays_have_what_the_kernel_left(check):
    x, y = vectors()
    before = y.copy()
    made = ptx.run(SAXPY, "saxpy", grid=4, block=256, args=[x, y, 1000, 2.0], check=check)
    np.testing.assert_allclose(y, 2 * x + before, rtol=1e-6)
    assert made == ptx.Run([], "")


def test_what_is_out_of_bounds_is_raised_with_its_line_and_array():
    x, y = vectors()
    with pytest.raises(FindingsError) as caught:
        ptx.run(UNGUARDED, grid=4, block=256, args=[x, y, 1000, 2.0], schedules=1)
    found = {one.kind: one for one in caught.value.findings}
    assert set(found) == {"oob_global"}
    lines = UNGUARDED.splitlines()
    assert lines[found["oob_global"].line - 1].strip() in (
        "ld.global.f32 %f2, [%rd6];",
        "ld.global.f32 %f3, [%rd7];",
        "st.global.f32 [%rd7], %f4;",
    )
    assert found["oob_global"].allocation["name"].startswith("args[")
    assert found["oob_global"].block == (3, 0, 0)
    assert found["oob_global"].thread[0] >= 1000 - 3 * 256
    assert "error[oob_global]" in str(caught.value) and "verdict: bug in the kernel" in str(caught.value)
    assert isinstance(caught.value, WarpsmithError) and isinstance(caught.value, AssertionError)
    made = ptx.run(UNGUARDED, grid=4, block=256, args=[x, y, 1000, 2.0], schedules=1, raises=False)
    assert [one.kind for one in made.findings] == [one.kind for one in caught.value.findings]


def test_an_output_is_unwritten_until_the_kernel_writes_it():
    x, y = vectors()
    with pytest.raises(FindingsError) as caught:
        ptx.run(SAXPY, grid=4, block=256, args=[x, ptx.Out(y), 1000, 2.0], schedules=1)
    assert {one.kind for one in caught.value.findings} & {"uninit_global", "unwritten_output"}
    ran = ptx.run(SAXPY, grid=4, block=256, args=[x, y, 999, 2.0])
    assert ran.findings == []


def test_an_order_that_matters_is_found_by_schedules():
    mine = np.zeros(8, np.uint32)
    with pytest.raises(FindingsError, match="schedule"):
        ptx.run(TICKET, grid=8, block=1, args=[np.zeros(1, np.uint32), mine])
    # The kinds may be limited.
    ptx.run(TICKET, grid=8, block=1, args=[np.zeros(1, np.uint32), mine], schedules=1, check=["race_global"])
    assert sorted(mine) == list(range(8))


def test_numbers_are_of_the_types_of_parameters():
    out = np.zeros(3, np.int64)
    ptx.run(PARAMS, block=1, args=[out, 1, -2, struct.pack("<qq", 7, 9)])
    assert out.view(np.float64)[0] == 1.0 and list(out[1:]) == [-2, 9]
    ptx.run(PARAMS, block=1, args=[out, np.float64(0.25), np.int16(-3), struct.pack("<qq", 0, 1)])
    assert out.view(np.float64)[0] == 0.25 and list(out[1:]) == [-3, 1]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (lambda x, y: [x, y, 1.5, 2.0], "args[2] (`n`): expected a number of type u32, found 1.5"),
        (lambda x, y: [x, y, -1, 2.0], "args[2] (`n`): expected a number of type u32, found -1"),
        (lambda x, y: [x, y, np.float32(3), 2.0], "args[2] (`n`): expected a u32, the type of the parameter, found a f32"),
        (lambda x, y: [x, y, np.uint64(3), 2.0], "args[2] (`n`): expected a u32"),
        (lambda x, y: [x, y, b"12345", 2.0], "args[2] (`n`): expected 4 bytes, the size of the parameter, found 5 bytes"),
        (lambda x, y: [x, y, 3], "args: expected 4 arguments, found 3"),
        (lambda x, y: [x, y, "3", 2.0], "args[2]: expected an array, a number, None or bytes, found str"),
        (lambda x, y: [x, y[::2], 3, 2.0], "args[1]: expected a C-contiguous array"),
        (lambda x, y: [x, x[1:], 3, 2.0], "args[1]: expected memory of its own"),
        (lambda x, y: [x, y.astype(">f4"), 3, 2.0], "args[1]: expected numbers in this machine's order"),
        (lambda x, y: [x, 7, y, 2.0], "args[2]"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_by_number(args, said):
    x, y = vectors(16)
    with pytest.raises(InputError) as caught:
        ptx.run(SAXPY, grid=1, block=16, args=args(x, y))
    assert said in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kernel": "other"}, "kernel: expected a kernel of the module, such as saxpy, found other"),
        ({"grid": 0}, "grid: expected one to three numbers from 1, found 0"),
        ({"grid": (1, 2, 3, 4)}, "grid: expected"),
        ({"block": 2048}, "block: expected at most 1024"),
        ({"block": None}, "block: expected the threads of a CTA"),
        ({"check": ["no_such_kind"]}, "check: unknown kind `no_such_kind`"),
        ({"sm": "nonsense"}, "sm: "),
        ({"schedules": 0}, "schedules: expected a number from 1, found 0"),
        ({"abi": "C"}, "abi: expected"),
    ],
)
def test_sizes_that_do_not_fit_are_refused_by_name(options, said):
    x, y = vectors(16)
    given = {"grid": 1, "block": 16, "args": [x, y, 16, 2.0], **options}
    with pytest.raises(InputError) as caught:
        ptx.run(SAXPY, **given)
    assert said in str(caught.value)


def test_read_only_arrays_stay_as_they_are():
    x, y = vectors(16)
    x.setflags(write=False)
    ptx.run(SAXPY, block=16, args=[x, y, 16, 2.0])
    y.setflags(write=False)
    with pytest.raises(InputError, match="read-only"):
        ptx.run(SAXPY, block=16, args=[x, y, 16, 2.0])


def test_an_array_of_nothing_and_the_null_pointer_are_the_same():
    empty = np.zeros((0, 4), np.float32)
    ptx.run(SAXPY, block=16, args=[empty, None, 0, 2.0])
    with pytest.raises(FindingsError, match="oob_global"):
        ptx.run(SAXPY, block=16, args=[empty, None, 1, 2.0], schedules=1)


def test_faults_and_what_is_no_ptx_have_exceptions_of_their_own():
    with pytest.raises(KernelFault, match="trap"):
        ptx.run(TRAP)
    with pytest.raises(PtxError):
        ptx.run("this is no PTX", block=1)
    with pytest.raises(PtxError, match="CUDA C\\+\\+"):
        ptx.check("__global__ void k() {}")
    with pytest.raises(PtxError):
        ptx.run(SAXPY.replace("sm_80", "sm_90"), block=1, sm=80, args=[None, None, 0, 1.0])
    with pytest.raises(InputError, match="found builtins.int"):
        ptx.check(7)
    with pytest.raises(FileNotFoundError):
        ptx.check("no_such_file.ptx")
    names = ".visible .func f() { ret; }\n.visible .func g();\n.alias g, f;\n.visible .entry"
    with pytest.raises(UnsupportedError):
        ptx.run(SAXPY.replace(".visible .entry", names, 1), block=1, args=[None, None, 0, 1.0])


def test_check_finds_without_running(tmp_path):
    assert ptx.check(SAXPY) == []
    file = tmp_path / "saxpy.ptx"
    file.write_text(SAXPY)
    assert ptx.check(file, sm=80) == ptx.check(str(file)) == []
    too_new = ptx.check(SAXPY, ptx_limit=(7, 0))
    assert [one.kind for one in too_new] == ["target"] and too_new[0].line == 1
    assert [one.kind for one in ptx.check(".version 7.8\nnonsense")][0] == "syntax"
    register = SAXPY.replace("ld.param.f32 %f1, [a];", "")
    found = ptx.check(register)
    assert [one.kind for one in found] == ["uninit_register"]
    assert "fma.rn.f32" in register.splitlines()[found[0].line - 1]


def test_kernels_tell_their_parameters():
    assert ptx.kernels(SAXPY) == {
        "saxpy": [("x", "u64", 8), ("y", "u64", 8), ("n", "u32", 4), ("a", "f32", 4)]
    }
    with pytest.raises(PtxError):
        ptx.kernels("nonsense")


def test_what_others_compile_is_taken():
    x, y = vectors(64)
    want = 2 * x + y
    metadata = SimpleNamespace(name="saxpy", num_warps=2, shared=0, num_ctas=1)
    scratch = SAXPY.replace(".param .f32 a)", ".param .f32 a, .param .u64 s, .param .u64 t)")
    triton = SimpleNamespace(asm={"ptx": scratch}, metadata=metadata)
    ptx.run(triton, args=[x, y, 64, 2.0])
    np.testing.assert_allclose(y, want, rtol=1e-6)
    with pytest.raises(InputError, match="expected 6 arguments, found 3"):
        ptx.run(triton, args=[x, y, 64])
    cuda_core = SimpleNamespace(code=SAXPY.encode(), code_type="ptx")
    assert ptx.check(cuda_core) == ptx.check((SAXPY, None)) == ptx.check(SAXPY.encode()) == []


def test_numba_hands_arrays_over_with_their_sizes():
    def array(of, data):
        names = [f"owner{of}", f"parent{of}", f"count{of}", f"bytes{of}", data, f"shape{of}", f"stride{of}"]
        return ", ".join(f".param .u64 {name}" for name in names)

    text = SAXPY.replace(".param .u64 x, .param .u64 y, .param .u32 n", f"{array(1, 'x')}, {array(2, 'y')}")
    text = text.replace("ld.param.u32 %r1, [n];", "ld.param.u32 %r1, [shape1];")
    x, y = vectors(40)
    want = 2 * x + y
    ptx.run(text, grid=2, block=32, args=[x, y, 2.0], abi="numba")
    np.testing.assert_allclose(y, want, rtol=1e-6)
    with pytest.raises(InputError, match="expected 15 arguments, found 3"):
        ptx.run(text, grid=2, block=32, args=[x, y, 2.0])


def test_ctrl_c_stops_a_kernel_that_never_ends(interrupted):
    start = time.monotonic()
    with interrupted(0.3), pytest.raises(KeyboardInterrupt):
        ptx.run(ENDLESS, block=1, args=[np.zeros(1, np.uint32)], check=False)
    assert time.monotonic() - start < 20
    with pytest.raises(KernelFault, match="instructions"):
        ptx.run(ENDLESS, block=1, args=[np.zeros(1, np.uint32)], check=False, budget=10_000)
