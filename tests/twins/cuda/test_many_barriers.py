"""Races are found, and none invented, however long a kernel runs: what counts their order begins anew in time."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

LAUNCH_FAILURE = 719
BARRIERS_OF_A_RUN = 2048
# Around the powers of two at which a count might be cut off; three barriers a turn, one clock a barrier.
TURNS = (1, 21, 22, 63, 64, 65, 683, 1365, 4095, 5000)


@pytest.fixture(scope="module")
def kernels(twin: Any) -> Any:
    return twin("barriers.cu", checks=True)


@pytest.mark.parametrize("turns", TURNS)
@pytest.mark.parametrize("kernel", ["in_shared_memory", "in_global_memory", "lanes", "locked"])
def test_turns_that_are_ordered_are_no_race(kernels: Any, kernel: str, turns: int) -> None:
    kernels.run(f"run_{kernel}", turns, False)


@pytest.mark.parametrize("turns", TURNS)
@pytest.mark.parametrize("kernel", ["in_shared_memory", "in_global_memory", "lanes"])
def test_the_last_turn_of_many_is_found_where_it_is_not_ordered(kernels: Any, kernel: str, turns: int) -> None:
    assert kernels.call(f"run_{kernel}", turns, True) == LAUNCH_FAILURE


def test_a_lock_without_fences_orders_nothing(kernels: Any) -> None:
    assert kernels.call("run_locked", 5000, True) == LAUNCH_FAILURE


@pytest.mark.parametrize("kernel", ["in_shared_memory", "in_global_memory", "lanes"])
@pytest.mark.parametrize("barriers", [2**27, 2**36])
def test_after_very_many_barriers(kernels: Any, barriers: int, kernel: str) -> None:
    kernels.library.ob_twin_count_runs_from(ctypes.c_uint64(barriers // BARRIERS_OF_A_RUN))
    kernels.run(f"run_{kernel}", 5000, False)
    assert kernels.call(f"run_{kernel}", 5000, True) == LAUNCH_FAILURE


def test_a_process_that_uses_up_its_numbers_goes_on(kernels: Any) -> None:
    """The launch in which that happens misses races, and the next one finds them again."""
    kernels.run("run_past_the_last_run", 5000, False)
    for kernel in ("in_shared_memory", "in_global_memory", "lanes"):
        kernels.run(f"run_{kernel}", 65, False)
        assert kernels.call(f"run_{kernel}", 65, True) == LAUNCH_FAILURE


@pytest.mark.parametrize("inner", [16, 496, 512, 528, 1040, 4112])
def test_products_of_long_rows(kernels: Any, on_device: Any, inner: int) -> None:
    device = on_device(kernels)
    rng = np.random.default_rng(inner)
    a, b = (device(rng.integers(-3, 4, shape).astype(np.float32)) for shape in ((32, inner), (inner, 16)))
    c = device(np.zeros((32, 16), np.float32))
    kernels.run("run_product", a, b, c, ctypes.c_int(32), 16, inner)
    np.testing.assert_array_equal(c, a @ b)
