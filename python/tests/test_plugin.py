"""The fixture: a right kernel passes, a wrong one fails its test with the text of what was found."""

from __future__ import annotations

from pathlib import Path

TESTS = f"""
import sys

sys.path.insert(0, {str(Path(__file__).parent)!r})

import numpy as np
from kernels import SAXPY, UNGUARDED


def run(checked, text, **options):
    x, y = np.ones(100, np.float32), np.ones(100, np.float32)
    checked(text, 1, 128, [x, y, 100, 2.0], **options)
    assert (y == 3).all()


def test_right(warpsmith_checked):
    run(warpsmith_checked, SAXPY)
    warpsmith_checked.check(SAXPY)
    warpsmith_checked.check(SAXPY, 1, 32, [None, None, 0, 1.0])


def test_out_of_bounds(warpsmith_checked):
    run(warpsmith_checked, UNGUARDED)


def test_static(warpsmith_checked):
    warpsmith_checked.check(SAXPY.replace("ld.param.f32 %f1, [a];", ""))


def test_orders(warpsmith_checked):
    assert warpsmith_checked.schedules == 2
"""


def test_findings_fail_tests_with_their_text(pytester):
    pytester.makepyfile(test_kernels=TESTS)
    result = pytester.runpytest_inprocess("--warpsmith-schedules", "2", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, failed=2)
    text = result.stdout.str()
    assert "error[oob_global]" in text and "st.global.f32 [%rd7], %f4;" in text
    assert "[uninit_register]" in text
    # Once with the test, once in the summary.
    assert text.count("findings in `saxpy`") == 2 and "During handling" not in text
    # No frames of the plugin or of the package.
    assert "pytest_plugin.py" not in text and "_native" not in text
