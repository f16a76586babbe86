"""FP8, FP6 and FP4 against ml_dtypes, and the functions for dynamic programming against NumPy's arithmetic."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

Array = np.ndarray[Any, np.dtype[Any]]
TYPES = {0: ml_dtypes.float8_e4m3fn, 1: ml_dtypes.float8_e5m2}


@pytest.fixture(scope="module")
def kernels(twin: Any) -> Any:
    return twin("small_numbers.cu")


def values() -> Array:
    """Every number of both types, what lies halfway between two of them, and what is too large or none at all."""
    numbers = np.concatenate([np.arange(256, dtype=np.uint8).view(kind).astype(np.float32) for kind in TYPES.values()])
    finite = np.unique(numbers[np.isfinite(numbers)])
    between = (finite[1:] + finite[:-1]) / 2
    near = np.concatenate([np.nextafter(between, np.float32(end)) for end in (-np.inf, np.inf)])
    return np.concatenate([finite, between, near, np.float32([1e9, -1e9, np.inf, -np.inf, np.nan, 1e-30, -0.0])])


@pytest.mark.parametrize("kind", TYPES)
def test_fp8_rounds_to_the_nearest_and_even(kernels: Any, kind: int) -> None:
    given = values()
    bits = np.zeros(given.size, np.uint8)
    kernels.run("narrowed", given, bits, given.size, kind, 0)
    with np.errstate(all="ignore"):
        expected = given.astype(TYPES[kind])
    got = bits.view(TYPES[kind]).astype(np.float32)
    np.testing.assert_array_equal(got, expected.astype(np.float32))
    numbers = ~np.isnan(given)
    np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(given)[numbers])


@pytest.mark.parametrize("kind", TYPES)
def test_what_is_too_large_for_a_type_becomes_its_greatest(kernels: Any, kind: int) -> None:
    given = values()
    bits = np.zeros(given.size, np.uint8)
    kernels.run("narrowed", given, bits, given.size, kind, 1)
    most = float(ml_dtypes.finfo(TYPES[kind]).max)
    expected = np.clip(given, -most, most).astype(TYPES[kind]).astype(np.float32)
    np.testing.assert_array_equal(bits.view(TYPES[kind]).astype(np.float32), expected)
    assert bits[np.isnan(given)] == 0x7F


@pytest.mark.parametrize("kind", TYPES)
def test_every_fp8_has_its_float(kernels: Any, kind: int) -> None:
    got = np.zeros(256, np.float32)
    kernels.run("widened", got, kind)
    np.testing.assert_array_equal(got, np.arange(256, dtype=np.uint8).view(TYPES[kind]).astype(np.float32))


def test_pairs_and_fours(kernels: Any) -> None:
    back = np.zeros(8, np.float32)
    kernels.run("four", np.float32([1.1, -2.3, 3.7, 1e6]), back)
    assert list(back) == [1.0, -2.5, 3.5, 57344.0, 1.125, -2.25, 3.75, 448.0]


def test_fp4_rounds_to_the_nearest_and_even_or_to_zero_and_saturates(kernels: Any) -> None:
    sizes = np.arange(8, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float32)
    middles = (sizes[1:] + sizes[:-1]) / 2
    near = [np.nextafter(middles, np.float32(end)) for end in (0, 9)]
    given = np.concatenate([sizes, middles, *near, np.float32([7, 1e9, np.inf, 1e-30])])
    given = np.concatenate([given, -given, np.float32([np.nan])])
    nearest, to_zero = np.zeros((2, given.size), np.uint8)
    kernels.run("narrowed_to_four_bits", given, nearest, to_zero, given.size)
    clipped = np.clip(given, -6, 6)
    np.testing.assert_array_equal(nearest[:-1], clipped.astype(ml_dtypes.float4_e2m1fn).view(np.uint8)[:-1])
    below = np.searchsorted(sizes, np.abs(clipped), side="right") - 1
    np.testing.assert_array_equal(to_zero[:-1], (below + 8 * np.signbit(given))[:-1])
    # As NVIDIA's header has it on a CPU.
    assert nearest[-1] == to_zero[-1] == 7


def test_fp4_in_pairs_and_fours(kernels: Any) -> None:
    back, bits = np.zeros(8, np.float32), np.zeros(1, np.uint16)
    kernels.run("four_halves_of_bytes", np.float32([1.5, -3, 6, 0.5]), back, bits)
    assert list(back[:6]) == [1.5, -3, 6, 0.5, 6, 0.5]
    assert bits[0] == 0x17D3


@pytest.mark.parametrize("kind", [ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn])
def test_fp6_rounds_to_the_nearest_and_even_or_to_zero_and_saturates(kernels: Any, kind: type) -> None:
    sizes = np.arange(32, dtype=np.uint8).view(kind).astype(np.float32)
    middles = (sizes[1:] + sizes[:-1]) / 2
    near = [np.nextafter(middles, np.float32(end)) for end in (0, 99)]
    given = np.concatenate([sizes, middles, *near, sizes[-1] + np.float32([0.1, 9, 1e9, np.inf]), np.float32([1e-30])])
    given = np.concatenate([given, -given, np.float32([np.nan])])
    nearest, to_zero = np.zeros((2, given.size), np.uint8)
    back = np.zeros(given.size, np.float32)
    kernels.run("narrowed_to_six_bits", given, nearest, to_zero, back, given.size, kind is ml_dtypes.float6_e3m2fn)
    clipped = np.clip(given, -sizes[-1], sizes[-1])
    np.testing.assert_array_equal(nearest[:-1], clipped.astype(kind).view(np.uint8)[:-1])
    np.testing.assert_array_equal(back[:-1], clipped.astype(kind).astype(np.float32)[:-1])
    below = np.searchsorted(sizes, np.abs(clipped), side="right") - 1
    np.testing.assert_array_equal(to_zero[:-1], (below + 32 * np.signbit(given))[:-1])
    # The largest, as of four bits.
    assert nearest[-1] == to_zero[-1] == 31


def test_fp6_in_pairs_and_fours(kernels: Any) -> None:
    back, bits = np.zeros(8, np.float32), np.zeros(1, np.uint32)
    kernels.run("four_of_six_bits_each", np.float32([1.125, -3, 7.5, 0.25]), back, bits)
    assert list(back[:6]) == [1.125, -3, 7.5, 0.25, 8, 0.25]
    assert bits[0] == 0x021F3409


def test_functions_for_dynamic_programming(kernels: Any) -> None:
    n = 1000
    drawn = np.random.default_rng(0)
    a, b, c = (drawn.integers(0, 2**32, n, dtype=np.uint32) for _ in range(3))
    b[:100] = a[:100]
    out = np.zeros((9, n), np.uint32)
    kernels.run("programmed", a, b, c, out, n)

    def halves(word: Array, kind: type = np.int16) -> Array:
        return word.view(kind)

    zero = np.int16(0)
    x, y, z = halves(a), halves(b), halves(c)
    np.testing.assert_array_equal(halves(out[0]), np.maximum(np.maximum(x + y, z), zero))
    np.testing.assert_array_equal(out[1], np.minimum(a + b, c))
    unsigned = [halves(word, np.uint16) for word in (a, b, c)]
    np.testing.assert_array_equal(halves(out[2], np.uint16), np.maximum.reduce(unsigned))
    least = np.minimum.reduce([word.view(np.int32) for word in (a, b, c)])
    np.testing.assert_array_equal(out[3].view(np.int32), np.maximum(least, 0))
    np.testing.assert_array_equal(halves(out[4]), np.maximum(np.minimum(x, y), zero))
    np.testing.assert_array_equal(halves(out[5]), np.maximum(x, y))
    first = (x >= y).reshape(n, 2)  # the lower half comes first
    np.testing.assert_array_equal(out[6], first[:, 1] * 2 + first[:, 0])
    np.testing.assert_array_equal(out[7].view(np.int32), np.minimum(a.view(np.int32), b.view(np.int32)))
    np.testing.assert_array_equal(out[8], a.view(np.int32) <= b.view(np.int32))
