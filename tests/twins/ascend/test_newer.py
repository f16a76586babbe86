"""What kernels since CANN 8.3 use, held against NumPy.  Builds one library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest


@pytest.fixture(scope="module")
def newer(twin: Callable[..., Any]) -> Any:
    return twin("newer.cpp")


def test_tensors_lie_where_the_kernel_says(newer: Any) -> None:
    x, y = (np.random.default_rng(seed).normal(size=64).astype(np.float32) for seed in (0, 1))
    z = np.zeros_like(x)
    newer.run("by_addresses", x, y, z, 256)
    np.testing.assert_array_equal(z, x + y)


def test_tensors_that_overlap_are_ordered_or_told_of(newer: Any) -> None:
    """The second load goes over half of the first, on one pipe: right order, and another sum."""
    x, y = np.ones(64, np.float32), np.full(64, 2, np.float32)
    z = np.zeros_like(x)
    newer.run("by_addresses", x, y, z, 128)
    np.testing.assert_array_equal(z, [3] * 32 + [4] * 32)
    with pytest.raises(AssertionError, match="misaligned"):
        newer.run("by_addresses", x, y, z, 100)


def test_a_tensor_behind_the_end_of_its_memory_is_told_of(newer: Any) -> None:
    x = np.ones(64, np.float32)
    with pytest.raises(AssertionError, match=r"a tensor of 256 bytes at 196608 ends after the unified buffer"):
        newer.run("by_addresses", x, x, x.copy(), 192 * 1024)


def test_an_allocator_hands_out_memory_from_its_beginning(newer: Any) -> None:
    x = np.arange(48, dtype=np.float16)
    z = np.zeros_like(x)
    newer.run("by_allocator", x, z, 1, 48)
    np.testing.assert_array_equal(z, 2 * x)


def test_what_nothing_orders_is_told_of_static_tensors_too(newer: Any) -> None:
    x = np.arange(48, dtype=np.float16)
    with pytest.raises(AssertionError, match=r"missing-sync(?s:.*)MTE2_V"):
        newer.run("by_allocator", x, x.copy(), 0, 48)


def test_a_tensor_is_not_read_behind_its_end(newer: Any) -> None:
    x = np.arange(48, dtype=np.float16)
    with pytest.raises(AssertionError, match=r"out-of-bounds"):
        newer.run("by_allocator", x, x.copy(), 1, 32)


@pytest.mark.parametrize("k", [1, 5, 8])
def test_the_smallest_of_rows_of_32_stand_behind_each_other(newer: Any, k: int) -> None:
    rows = 3
    x = np.random.default_rng(k).permutation(rows * 32).astype(np.float32).reshape(rows, 32)
    names = np.random.default_rng(k + 1).integers(0, 1000, (rows, 32)).astype(np.int32)
    values, places = np.zeros((rows, k), np.float32), np.zeros((rows, k), np.int32)
    newer.run("small_top_k", x, names, values, places, rows, k)
    order = np.argsort(x[:, :30], axis=1)[:, :k]
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))
    np.testing.assert_array_equal(places, np.take_along_axis(names, order, 1))


@pytest.mark.parametrize("pads", [True, False])
def test_rows_of_the_unified_buffer_become_fractals_of_l1(newer: Any, pads: bool) -> None:
    x, y = (np.random.default_rng(seed).integers(-4, 5, (16, 16)).astype(np.float16) for seed in (0, 1))
    z = np.zeros((16, 16), np.float32)
    newer.call("product_of_vectors", x, y, z, pads)
    np.testing.assert_array_equal(z, x.astype(np.float32) @ y.astype(np.float32))
