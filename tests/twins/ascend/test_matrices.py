"""The high-level functions of rows and matrices, held against NumPy in double precision."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

SHAPES = [(1, 16, 16), (3, 32, 29), (20, 64, 64)]
"""Rows, their length in memory, and how much of it counts."""


def normal(*shape: int, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES)
def test_sums_and_means_of_rows(functions: Any, shape: tuple[int, int, int]) -> None:
    m, step, n = shape
    x = normal(m, step, dtype=np.float16)
    sums, means = np.empty(m, np.float16), np.empty(m, np.float16)
    functions.call("rows", x, m, step, n, sums, means)
    np.testing.assert_allclose(sums, x[:, :n].sum(1, dtype=np.float64), rtol=2e-3, atol=2e-2)
    np.testing.assert_allclose(means, x[:, :n].mean(1, dtype=np.float64), rtol=1e-3, atol=1e-4)


PATTERNS = [np.sum, np.mean, np.prod, np.max, np.min, np.any, np.all]


@pytest.mark.parametrize("of_rows", [True, False])
@pytest.mark.parametrize("which", range(len(PATTERNS)))
def test_reductions_by_a_pattern(functions: Any, which: int, of_rows: bool) -> None:
    x = np.rint(normal(5, 13))
    padded = np.pad(x, ((0, 0), (0, 3)), constant_values=99)
    z = np.empty(5 if of_rows else 13, np.float32)
    functions.call("patterns", which, of_rows, padded, 5, 13, z)
    np.testing.assert_allclose(z, PATTERNS[which](x, axis=1 if of_rows else 0), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["half", "float"])
@pytest.mark.parametrize("shape", SHAPES)
def test_softmax(functions: Any, shape: tuple[int, int, int], dtype: str) -> None:
    m, k, n = shape
    x = normal(m, k, dtype={"half": np.float16, "float": np.float32}[dtype]) * 4
    z = np.full((3, m, k), 9, x.dtype)
    sums, maxima = np.empty((m, 8), np.float32), np.empty((m, 8), np.float32)
    functions.call(f"softmax_{dtype}", x, m, k, n, z, sums, maxima)
    exact = x[:, :n].astype(np.float64)
    powers = np.exp(exact - exact.max(1, keepdims=True))
    expected = powers / powers.sum(1, keepdims=True)
    for one in z:
        np.testing.assert_allclose(one[:, :n], expected, rtol=1e-3 if dtype == "half" else 2e-6, atol=1e-7)
    np.testing.assert_array_equal(maxima, np.repeat(x[:, :n].max(1), 8).reshape(m, 8))
    np.testing.assert_allclose(sums, np.repeat(powers.sum(1), 8).reshape(m, 8), rtol=2e-6)
    assert (z[:, :, n:] == 9).all()


def test_softmax_in_two_parts(functions: Any) -> None:
    m, k = 4, 128
    x = normal(2, m, k) * 3
    z = np.empty((2, m, k), np.float32)
    functions.call("softmax_in_parts", x, m, k, z[0], z[1])
    exact = np.concatenate(list(x), 1).astype(np.float64)
    powers = np.exp(exact - exact.max(1, keepdims=True))
    np.testing.assert_allclose(np.concatenate(list(z), 1), powers / powers.sum(1, keepdims=True), rtol=3e-6)


def test_the_gradient_of_softmax(functions: Any) -> None:
    m, k = 5, 64
    grad, y = normal(m, k), abs(normal(m + 1, k)[:m])
    z, sums = np.empty_like(y), np.empty((m, 8), np.float32)
    functions.call("softmax_gradient", grad, y, m, k, z, sums)
    products = (grad.astype(np.float64) * y).sum(1, keepdims=True)
    np.testing.assert_allclose(sums, np.repeat(products, 8, 1), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(z, (grad - products) * y, rtol=1e-5, atol=1e-5)


def test_running_sums(functions: Any) -> None:
    x = normal(6, 16)
    z, last = np.empty((2, 6, 16), np.float32), np.empty(16, np.float32)
    functions.call("running_sums", x, 6, 16, z, last)
    np.testing.assert_allclose(z[0], np.cumsum(x, 1, dtype=np.float64), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(z[1], np.cumsum(x, 0, dtype=np.float64), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(last, z[1, -1])


@pytest.mark.parametrize(("mode", "rounded"), [(1, np.rint), (2, np.floor), (3, np.ceil), (5, np.trunc)])
def test_half_bytes(functions: Any, mode: int, rounded: Any) -> None:
    x = np.linspace(-12, 12, 128).astype(np.float16)
    packed, z = np.empty(64, np.uint8), np.empty_like(x)
    functions.call("half_bytes", x, packed, z, len(x), mode)
    expected = np.clip(rounded(x), -8, 7)
    np.testing.assert_array_equal(z, expected)
    np.testing.assert_array_equal(packed & 15, expected[::2].astype(np.int64) & 15)


@pytest.mark.parametrize("shape", SHAPES)
def test_normalization(functions: Any, shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    x, gamma, beta = normal(m, k) + 1, normal(k), normal(k + 1)[:k]
    z = np.full((3, m, k), 9, np.float32)
    means, variances, rstds = (np.empty(m, np.float32) for _ in range(3))
    functions.call("norms", x, gamma, beta, m, k, n, z, means, variances, rstds)
    exact = x[:, :n].astype(np.float64)
    rstd = 1 / np.sqrt(exact.var(1) + 1e-5)
    layer = (exact - exact.mean(1, keepdims=True)) * rstd[:, None] * gamma[:n] + beta[:n]
    rms = exact / np.sqrt((exact**2).mean(1, keepdims=True) + 1e-5) * gamma[:n]
    for got, expected in zip(z, (layer, layer, rms), strict=True):
        np.testing.assert_allclose(got[:, :n], expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(means, exact.mean(1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(variances, exact.var(1), rtol=1e-5)
    np.testing.assert_allclose(rstds, rstd, rtol=1e-5)


def test_broadcast_of_a_column_and_of_a_row(functions: Any) -> None:
    column, row = normal(5, dtype=np.float16), normal(16, dtype=np.float16)
    z = np.empty((2, 5, 16), np.float16)
    functions.call("broadcasts", column, row, 5, 16, z)
    np.testing.assert_array_equal(z[0], np.repeat(column, 16).reshape(5, 16))
    np.testing.assert_array_equal(z[1], np.tile(row, (5, 1)))


def test_transposes(functions: Any) -> None:
    x, y = normal(16, 16, dtype=np.float16), normal(16, 8)
    z, w, v = np.empty_like(x), np.empty_like(x), np.empty((8, 16), np.float32)
    functions.call("transposes", x, y, z, w, v)
    np.testing.assert_array_equal(z, x.T)
    np.testing.assert_array_equal(w, x.T)
    np.testing.assert_array_equal(v, y.T)


def descending(x: Any) -> Any:
    """The order of a stable sort, largest first."""
    return np.argsort(-x.astype(np.float64), kind="stable")


@pytest.mark.parametrize("dtype", ["half", "float"])
@pytest.mark.parametrize(("lists", "merges"), [(1, 0), (5, 0), (2, 1), (3, 2), (4, 1), (4, 2)])
def test_sort(functions: Any, dtype: str, lists: int, merges: int) -> None:
    x = np.random.default_rng(lists).integers(-50, 50, lists * 32)
    x = x.astype({"half": np.float16, "float": np.float32}[dtype])
    values, indices = np.empty_like(x), np.empty(len(x), np.uint32)
    functions.call(f"sort_{dtype}", x, lists, merges, values, indices)
    np.testing.assert_array_equal(indices, descending(x))
    np.testing.assert_array_equal(values, x[indices])


def test_a_merge_that_stops_when_one_list_is_empty(functions: Any) -> None:
    x = np.arange(64, dtype=np.float32)
    x[63] = -1  # all of the second list but this one is larger than the first
    z, counts = np.empty((64, 2), np.float32), (ctypes.c_uint32 * 4)()
    functions.call("merge_until_one_is_empty", x, z, counts)
    assert list(counts) == [32, 31, 0, 0]
    np.testing.assert_array_equal(z[:, 0], [*range(62, -1, -1), 0])


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("k", [1, 5, 8])
def test_the_largest_of_each_row(functions: Any, k: int, largest: bool) -> None:
    m, inner, n, padded = 3, 64, 50, 8
    x = normal(m, inner)
    finished = np.array([False, True, False])
    values, indices = np.full((m, padded), 9, np.float32), np.full((m, padded), 9, np.int32)
    functions.call("top", x, finished, m, inner, n, k, largest, values, indices)
    order = np.stack([descending(row if largest else -row) for row in x[:, :n]])[:, :k]
    np.testing.assert_array_equal(values[:, :k], np.take_along_axis(x, order, 1))
    np.testing.assert_array_equal(indices[:, :k], np.where(finished[:, None], n, order))
