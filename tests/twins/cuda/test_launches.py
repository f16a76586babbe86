"""Kernels and launches as people write them, against what they are to compute; with checks on and off."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np
import pytest


@pytest.fixture(scope="module", params=[False, True], ids=["fast", "checked"])
def launches(request: pytest.FixtureRequest, twin: Any) -> Any:
    return twin("launches.cu", checks=request.param)


@pytest.mark.parametrize(("grid", "block"), [((3, 1, 1), (5, 1, 1)), ((2, 3, 4), (3, 5, 2)), ((1, 1, 2), (1, 1, 64))])
def test_every_thread_of_three_dimensions_knows_its_place(launches: Any, grid: Any, block: Any) -> None:
    blocks, threads = (list(itertools.product(*map(range, reversed(sizes)))) for sizes in (grid, block))
    expected = [(*b[::-1], *t[::-1], 32) for b in blocks for t in threads]
    out = np.full((len(expected), 7), -1, np.int32)
    launches.run("run_coordinates", out, ctypes.c_size_t(out.size), np.array([*grid, *block], np.uint32))
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("blocks", [0, 1, 7], ids=["one element a thread", "one block in strides", "strides"])
@pytest.mark.parametrize("n", [1, 255, 256, 1000, 100_003])
def test_elementwise_loops(launches: Any, n: int, blocks: int) -> None:
    rng = np.random.default_rng(n)
    x, y = (rng.integers(-100, 100, n).astype(np.float32) for _ in range(2))
    expected = 3 * x + y
    launches.run("run_axpy", n, ctypes.c_float(3), x, y, blocks)
    np.testing.assert_array_equal(y, expected)


def test_more_blocks_than_indices_of_32_bits_are_taken_for(twin: Any) -> None:
    out = np.zeros(9, np.uint64)
    twin("launches.cu").run("run_far_index", out, len(out))
    np.testing.assert_array_equal(out, 2**21 + 5 - 9 + np.arange(9))


def test_the_language_in_kernels_and_launches(launches: Any) -> None:
    out = np.arange(64, dtype=np.int32)
    launches.run("run_language", out)
    expected = np.arange(64)
    expected[:4] *= 3
    expected[4:8] += 5
    expected[8] += 1 + 2 + 3 + 3
    expected[9:13] = [1 + (3 + t) * 100 + (7 - t) * 10000 for t in range(4)]
    expected[13] = 1
    expected[14] = np.float32(2).view(np.int32)
    expected[15:20] = [7, 8, 9, 18, 10]
    expected[20:23] = [1002, 1003, 11]
    np.testing.assert_array_equal(out, expected)


def test_a_kernel_by_its_pointer(launches: Any) -> None:
    out = np.zeros(4, np.int32)
    launches.run("run_by_pointer", out)
    np.testing.assert_array_equal(out, [7, 5, 6, 7])


def test_variables_of_the_device(launches: Any) -> None:
    out, counted = np.zeros(3, np.float32), np.zeros(4, np.int32)
    launches.run("run_variables", out, np.array([5, 6], np.float32), counted)
    np.testing.assert_array_equal(out, [11, 25, 16])
    np.testing.assert_array_equal(counted, [64, 42, 0, 12])


def test_variables_of_functions_stay_from_launch_to_launch(launches: Any) -> None:
    out = np.zeros(67, np.int32)
    launches.run("run_statics", out)
    threads = np.arange(64)
    np.testing.assert_array_equal(out[:64], 2 * threads * 2 + 7 + threads % 4)
    np.testing.assert_array_equal(out[64:], [5 + 127 * 2, 5 + 127 * 3, 128])


def test_names_of_shared_memory_mean_what_they_do_in_c_plus_plus(twin: Any) -> None:
    out = np.zeros(6, np.int32)
    twin("names.cu", checks=True).run("run_names", out)
    np.testing.assert_array_equal(out, [6, 11, 120, 3, 1, 15])


def test_device_code_knows_an_architecture_and_host_code_none(launches: Any) -> None:
    out = np.full(2, -1, np.int32)
    launches.run("run_architecture", out)
    assert list(out) == [1, 0]
