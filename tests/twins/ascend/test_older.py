"""What kernels of 2023 and of chips before Atlas A2 use, held against NumPy.  Builds one library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest


@pytest.fixture(scope="module")
def older(twin: Callable[..., Any]) -> Any:
    return twin("older.cpp")


@pytest.mark.parametrize("lists", [2, 3, 4])
def test_lists_of_region_proposals_are_sorted_and_merged(older: Any, lists: int) -> None:
    x = np.random.default_rng(lists).permutation(lists * 16).astype(np.float16)
    scores, places = np.zeros_like(x), np.zeros_like(x)
    older.call("merged_proposals", x, lists, scores, places)
    np.testing.assert_array_equal(scores, np.sort(x)[::-1])
    np.testing.assert_array_equal(places, np.argsort(x)[::-1])


def test_channels_go_last_and_come_back(older: Any) -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 8)).astype(np.float32)
    last, back = np.zeros((2, 4, 8, 3), np.float32), np.zeros_like(x)
    older.call("channels_last", x, last, back, *x.shape)
    np.testing.assert_array_equal(last, x.transpose(0, 2, 3, 1))
    np.testing.assert_array_equal(back, x)


def test_names_of_2023_and_of_the_compiler(older: Any) -> None:
    x = np.arange(128, dtype=np.float16)
    bits = np.zeros(3, np.uint64)
    older.run("by_old_names", x, bits, blocks=2)
    np.testing.assert_array_equal(x, 2 * np.arange(128))
    assert bits.tolist() == [5, 9, 361]


def test_half_a_block_of_half_bytes_is_loaded(older: Any) -> None:
    numbers = np.arange(-16, 16) // 2
    pairs = (numbers[::2] & 15 | (numbers[1::2] & 15) << 4).astype(np.uint8)
    z = np.zeros(32, np.float16)
    older.call("half_a_block", pairs, z)
    np.testing.assert_array_equal(z, numbers)


def test_half_bytes_lie_in_global_memory_too(older: Any) -> None:
    numbers = np.random.default_rng(0).integers(-8, 8, 256)
    pairs = (numbers[::2] & 15 | (numbers[1::2] & 15) << 4).astype(np.uint8)
    z, copied = np.zeros(128, np.float16), np.zeros_like(pairs)
    older.call("half_bytes", pairs, z, copied, 256)
    np.testing.assert_array_equal(z, numbers[128:])
    np.testing.assert_array_equal(copied, pairs)


def test_results_of_the_matrix_unit_reach_the_vector_unit_of_their_core(
    older: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = (np.random.default_rng(seed).integers(-3, 4, (16, 16)).astype(np.float16) for seed in (0, 1))
    z = np.zeros_like(a)
    with pytest.raises(AssertionError, match=r"CO2 is not a local memory of Ascend910B(?s:.*)leaves CO1"):
        older.call("results_to_vector", a, b, z)
    monkeypatch.setenv("OPBRIDGE_ASCEND_SOC", "Ascend310P")
    older.call("results_to_vector", a, b, z)
    np.testing.assert_array_equal(z, np.maximum(a @ b, 0))


def test_tilings_are_read_by_members_and_copied(older: Any) -> None:
    z = np.zeros(4, np.uint32)
    older.run("members", z, np.array([7, 1, 2, 3], np.uint32))
    assert z.tolist() == [7, 3, 2, 32]
