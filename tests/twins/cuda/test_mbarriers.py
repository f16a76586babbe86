"""Barriers and copies of Hopper, and what PTX calls release, against what they are to do, with checks on and off."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from subprocesses import python


@pytest.fixture(scope="module", params=[False, True], ids=["fast", "checked"])
def kernels(request: pytest.FixtureRequest, twin: Any) -> Any:
    return twin("mbarriers.cu", checks=request.param)


@pytest.fixture(scope="module")
def checked(twin: Any) -> Any:
    return twin("mbarriers.cu", checks=True)


FEW = [(tile, tiles, threads) for tile, tiles in [(4, 1), (4, 2), (36, 7), (512, 3)] for threads in (32, 64, 256)]
WAIT_LONG = pytest.mark.matrix("200 tiles of 32 threads: more threads wait for as many copies")


@pytest.mark.parametrize(
    ("tile", "tiles", "threads"),
    [*FEW, (16, 200, 32), *(pytest.param(16, 200, threads, marks=WAIT_LONG) for threads in (64, 256))],
)
def test_tiles_are_copied_ahead_of_their_use(kernels: Any, on_device: Any, tile: int, tiles: int, threads: int) -> None:
    device = on_device(kernels)
    values = np.arange(tile * tiles, dtype=np.int32)
    given, to = device(values), device(np.zeros_like(values))
    kernels.run("run_tiles_in_stages", given, to, tile, tiles, threads)
    np.testing.assert_array_equal(to, 2 * values)


@pytest.mark.parametrize(("threads", "rounds", "stay"), [(2, 1, 2), (32, 9, 32), (100, 64, 100), (256, 5, 17)])
def test_threads_hand_values_round_and_drop_out(
    kernels: Any, on_device: Any, threads: int, rounds: int, stay: int
) -> None:
    out = on_device(kernels)(np.zeros(stay, np.int32))
    kernels.run("run_hand_round", out, threads, rounds, stay)
    expected = np.roll(np.arange(threads), -1)[:stay] + 1
    for _ in range(rounds - 1):
        expected = np.roll(expected, -1) + 1
    np.testing.assert_array_equal(out, expected)


def test_a_block_in_no_cluster_is_one_by_itself(kernels: Any, on_device: Any) -> None:
    out = on_device(kernels)(np.zeros(64, np.int32))
    kernels.run("run_cluster_of_one", out)
    np.testing.assert_array_equal(out, 1063 - np.arange(64))


def flags(device: Any) -> list[Any]:
    return [device(np.zeros(1, np.int32)) for _ in range(3)]


@pytest.mark.parametrize("way", ["store_release", "red_release", "fence_and_store", "fence_and_red"])
def test_a_release_hands_over_what_was_written(kernels: Any, on_device: Any, way: str) -> None:
    data, flag, out = flags(on_device(kernels))
    kernels.run(f"run_{way}", data, flag, out)
    assert out[0] == 42


def test_what_is_read_before_it_has_come_is_a_race(checked: Any, on_device: Any) -> None:
    device = on_device(checked)
    assert checked.call("run_read_before_it_came", device(np.ones(32, np.int32)), device(np.zeros(32, np.int32))) == 719
    assert "[shared-race]" in checked.reports


def test_a_barrier_that_was_never_made_is_named(checked: Any, on_device: Any) -> None:
    assert checked.call("run_never_made", on_device(checked)(np.zeros(32, np.int32))) != 0
    assert "an mbarrier that is not initialised" in checked.reports


def test_bulk_copies_are_of_sixteen_bytes_and_more(checked: Any, on_device: Any) -> None:
    assert checked.call("run_copy_of_eight_bytes", on_device(checked)(np.zeros(32, np.int32))) != 0
    assert "both addresses and the number of bytes must be multiples of 16" in checked.reports


@pytest.mark.parametrize("way", ["store_relaxed", "store_volatile", "red_relaxed", "red_plain"])
def test_what_is_relaxed_hands_over_nothing_else(checked: Any, on_device: Any, way: str) -> None:
    assert checked.call(f"run_{way}", *flags(on_device(checked))) == 719
    assert "[global-race]" in checked.reports


def test_a_wait_for_bytes_that_never_come_is_told_of(checked: Any) -> None:
    code = f"import ctypes; ctypes.CDLL({checked.library._name!r}).run_bytes_never_come()"
    done = python(code, env=os.environ | {"OPBRIDGE_TWIN_TIMEOUT": "1"}, timeout=60)
    assert "bytes_never_come: the launch has run for longer than it may [endless]" in done.stderr
    assert done.returncode == 86
