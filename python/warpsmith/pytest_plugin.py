"""A plugin of pytest: the fixture `warpsmith_checked` runs kernels under the checker, on a machine without a card.

    import numpy as np

    def test_saxpy(warpsmith_checked):
        x, y = np.ones(1000, np.float32), np.ones(1000, np.float32)
        warpsmith_checked("saxpy.ptx", grid=4, block=256, args=[x, y, 1000, 2.0])
        assert (y == 3).all()

A test fails with the text of what was found: the kind, the line of PTX and of its source, block and thread. Notes are
printed, and pytest shows them where a test fails. `--warpsmith-schedules N` says in how many orders kernels run, 8 if it
is not given.
"""

from __future__ import annotations

from typing import Any, Sequence

import pytest

from . import ptx as _ptx
from .errors import FindingsError


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("warpsmith")
    group.addoption(
        "--warpsmith-schedules",
        type=int,
        default=8,
        metavar="N",
        help="orders of CTAs, warps and lanes that kernels run in under warpsmith_checked [default: 8]",
    )


class Checked:
    """What the fixture gives. It is called like `warpsmith.ptx.run`, as `checked(...)` or `checked.run(...)`."""

    def __init__(self, schedules: int) -> None:
        self.schedules = schedules

    def __call__(
        self,
        ptx: Any,
        grid: _ptx.Extent = 1,
        block: _ptx.Extent | None = None,
        args: Sequence[Any] = (),
        *,
        kernel: str | None = None,
        **options: Any,
    ) -> _ptx.Run:
        """Runs a kernel, and fails the test if the checker finds something. The arguments are those of `ptx.run`."""
        __tracebackhide__ = True
        options.setdefault("schedules", self.schedules)
        made, said = None, ""
        try:
            made = _ptx.run(ptx, kernel, grid, block, args, **options)
        except FindingsError as found:
            said = str(found)
        # Out of the handler, or pytest tells all of it twice.
        if made is None:
            pytest.fail(said, pytrace=False)
        for note in made.findings:
            print(note.text)
        if made.printed:
            print(made.printed, end="")
        return made

    run = __call__

    def check(self, ptx: Any, grid: Any = None, block: Any = None, args: Sequence[Any] = (), **options: Any) -> Any:
        """With a grid, as `run`. Without one, finds faults in PTX without running it, and fails the test if there are any."""
        __tracebackhide__ = True
        if grid is not None:
            return self(ptx, grid, block, args, **options)
        found = [one for one in _ptx.check(ptx, **options) if one.level != "note"]
        if found:
            pytest.fail("\n".join(one.text for one in found), pytrace=False)
        return None


@pytest.fixture
def warpsmith_checked(request: pytest.FixtureRequest) -> Checked:
    """Runs kernels under Warpsmith's checker; see `warpsmith.pytest_plugin`."""
    return Checked(request.config.getoption("--warpsmith-schedules"))
