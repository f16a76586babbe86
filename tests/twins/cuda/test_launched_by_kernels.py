"""Kernels that launch kernels: these run when the grid that launches them has ended, and are checked as all others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

ILLEGAL_ADDRESS, INVALID_CONFIGURATION = 700, 9


@pytest.fixture(scope="module", params=[True, False], ids=["checked", "unchecked"])
def kernels(twin: Any, request: pytest.FixtureRequest) -> Any:
    return twin("launched_by_kernels.cu", checks=request.param)


@pytest.fixture(scope="module")
def checked(twin: Any) -> Any:
    return twin("launched_by_kernels.cu", checks=True)


def test_a_tail_launch_comes_behind_all_others_of_its_grid(kernels: Any, on_device: Any) -> None:
    array = on_device(kernels)
    values, total = array(np.zeros(100, np.int32)), array(np.zeros(1, np.int32))
    kernels.run("run_parts", values, 5, 20, total)
    assert list(values) == [block + 1 for block in range(5) for _ in range(20)]
    assert total[0] == 20 * (1 + 2 + 3 + 4 + 5)


def test_a_kernel_may_launch_itself(kernels: Any, on_device: Any) -> None:
    calls = on_device(kernels)(np.zeros(1, np.int32))
    kernels.run("run_halve", calls, 16)
    assert calls[0] == 31


def test_a_mistake_in_it_is_found(checked: Any, on_device: Any) -> None:
    values = on_device(checked)(np.zeros(40, np.int32))
    assert checked.call("run_beyond", values, 40) == ILLEGAL_ADDRESS
    assert "fill: write of 4 bytes out of bounds" in checked.reports
    assert "launched_by_kernels.cu:4, thread (40, 0, 0) of block (0, 0, 0)" in checked.reports


def test_sizes_that_no_gpu_takes_are_refused(checked: Any, on_device: Any) -> None:
    values = on_device(checked)(np.zeros(1, np.int32))
    assert checked.call("run_too_large", values) == INVALID_CONFIGURATION
    assert "fill: the block is (2048, 1, 1)" in checked.reports
