"""Kernels with code of their own for the matrix unit and for the vector cores beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest


@pytest.fixture(scope="module")
def split(twin: Callable[..., Any]) -> Any:
    return twin("split.cpp")


def tiles(blocks: int, count: int) -> tuple[np.ndarray, ...]:
    a, b = (np.random.default_rng(seed).integers(-4, 5, (blocks * count, 16, 16)) for seed in (0, 1))
    expected = np.maximum(a @ b.swapaxes(1, 2), 0)
    results = np.zeros((blocks * count, 16, 16), np.float32), np.zeros((blocks, 16, 16), np.float32)
    return (a.astype(np.float16), b.astype(np.float16), *results, expected)


@pytest.mark.parametrize("kernel", ["with_two", "with_one"])
def test_matrix_unit_and_vector_cores_pass_tiles_by_flags(split: Any, kernel: str) -> None:
    a, b, c, workspace, expected = tiles(3, 4)
    split.run(kernel, a, b, c, workspace, 4, 1, blocks=3)
    np.testing.assert_array_equal(c, expected)


def test_a_vector_core_that_does_not_wait_for_the_matrix_unit(split: Any) -> None:
    a, b, c, workspace, _ = tiles(1, 1)
    with pytest.raises(
        AssertionError, match=r"reads what block 0 writes, and nothing orders the two[^\n]*\n.*DataCopy"
    ):
        split.run("with_two", a, b, c, workspace, 1, 0)


def test_all_cores_of_both_kinds_meet(split: Any) -> None:
    a, b, c, _, expected = tiles(1, 1)
    split.run("met", a, b, c, np.zeros((3, 16, 16), np.float32), blocks=3)
    np.testing.assert_array_equal(c, expected)


def test_a_vector_instruction_on_the_matrix_unit(split: Any) -> None:
    with pytest.raises(
        AssertionError, match=r"a vector instruction on the core with the matrix unit \[bad-parameter\]"
    ):
        split.run("vector_for_all", None)
