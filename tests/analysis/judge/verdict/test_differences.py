"""What is right of numbers: everything that a reference returns, within bounds from its own error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opbridge.analysis.judge.values import Array
from opbridge.analysis.judge.verdict.differences import difference, difference_of_gradients


def array(*numbers: float, dtype: str = "float32") -> Array:
    return Array(dtype, (len(numbers),), np.array(numbers, dtype).tobytes())


def test_a_list_of_one_tensor_is_that_tensor_and_a_tuple_is_not() -> None:
    one, exact = array(1.0, 2.0), array(1.0, 2.0, dtype="float64")
    assert difference([one], exact, one) is None
    assert difference((one,), (exact,), (one,)) is None
    found = difference((one,), exact, one)
    assert found is not None
    assert found.message == "the output is a tuple of one tensor instead of a tensor"


def test_large_numbers_hide_no_small_ones() -> None:
    """As where a state grows step by step; but what is left of large numbers has their error."""
    exact = np.stack([np.full(64, 1e12), np.linspace(1, 2, 64), np.where(np.arange(64) == 7, 1e-9, 0.0)])
    rounded = np.add(exact, [[1e5], [1e-7], [0]]).astype(np.float32)
    for row, off, is_right in [(0, 1e6, True), (1, 1e-3, False), (1, 1e-6, True), (2, 1e-6, True)]:
        answer = exact.copy()
        answer[row, 7] += off
        arrays = (
            Array(str(one.dtype), one.shape, one.tobytes()) for one in (answer.astype(np.float32), exact, rounded)
        )
        found = difference(*arrays)
        assert (found is None) is is_right, (row, off)


def test_the_bound_is_the_references_own_error() -> None:
    exact, rounded = array(1.0, 1000.0, dtype="float64"), array(1.0, 1000.01)
    assert difference(array(1.0, 1000.02), exact, rounded) is None
    found = difference(array(1.0, 1002.0), exact, rounded)
    assert found is not None
    assert "1002 instead of 1000 at [1]" in found.message


def halves(dtype: str, numbers: np.ndarray[Any, Any]) -> Array:
    wide = numbers.astype(np.float32)
    if dtype == "float16":
        return Array(dtype, wide.shape, wide.astype(np.float16).tobytes())
    bits = wide.view(np.uint32)
    return Array(dtype, wide.shape, ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16).tobytes())


@pytest.mark.parametrize(("dtype", "unit"), [("float16", 2.0**-10), ("bfloat16", 2.0**-7)])
def test_half_types_are_held_to_some_units_in_the_last_place(dtype: str, unit: float) -> None:
    exact = np.linspace(0.1, 1, 512)
    of = Array("float64", exact.shape, exact.tobytes())
    rounded = halves(dtype, exact)
    for factor, is_right in [(1, True), (1 + unit / 8, True), (1 + 2 * unit, False), (1.02, False), (1.45, False)]:
        assert (difference(halves(dtype, exact * factor), of, rounded) is None) is is_right, factor
    one_off = exact.copy()
    one_off[100] *= 1 + 2 * unit
    assert difference(halves(dtype, one_off), of, rounded) is None, "as by another order of additions"


def test_what_is_off_in_one_direction_is_told_of_float32_too() -> None:
    """Each element is near enough, and all are too large: no rounding does that."""
    exact = np.linspace(1, 2, 256)
    rounded = (exact * (1 + 1e-6 * np.where(np.arange(256) % 2, 1, -1))).astype(np.float32)
    arrays = Array("float64", exact.shape, exact.tobytes()), Array("float32", exact.shape, rounded.tobytes())
    found = difference(Array("float32", exact.shape, (exact * (1 + 6e-5)).astype(np.float32).tobytes()), *arrays)
    assert found is not None
    assert "in the mean" in found.message
    either = exact * (1 + 6e-5 * np.where(np.arange(256) % 2, 1, -1))
    assert difference(Array("float32", exact.shape, either.astype(np.float32).tobytes()), *arrays) is None


def test_zeros_constants_and_infinities_pass_by_no_bound() -> None:
    exact = array(*(1e-3 * np.arange(100)), 1e6, dtype="float64")
    rounded = array(*(1e-3 * np.arange(100)), 1e6 + 0.5)
    assert difference(rounded, exact, rounded) is None
    small = array(1e-3, 2e-3, dtype="float64"), array(1e-3, 2.0001e-3)
    assert difference(array(1.5e-3, 1.5e-3), *small) is not None
    nan, inf = float("nan"), float("inf")
    lost = array(inf, nan, 1.0, dtype="float64"), array(inf, nan, 1.0)
    assert difference(array(inf, nan, 1.0), *lost) is None
    for answer in (array(1.0, nan, 1.0), array(-inf, nan, 1.0), array(inf, 1.0, 1.0), array(inf, nan, inf)):
        assert difference(answer, *lost) is not None
    overflows = array(1e5, 1.0, dtype="float64"), array(inf, 1.0, dtype="float16")
    assert difference(array(inf, 1.0, dtype="float16"), *overflows) is None


def test_many_numbers_with_an_infinity_in_the_answer_and_the_reference() -> None:
    numbers = np.linspace(-1, 1, 4096)
    numbers[7] = -np.inf  # as the logarithm of zero
    exact, rounded = (Array(name, (4096,), numbers.astype(name).tobytes()) for name in ("float64", "float32"))
    assert difference(rounded, exact, rounded) is None
    numbers[7] = 0.0
    assert difference(Array("float32", (4096,), numbers.astype(np.float32).tobytes()), exact, rounded) is not None


def test_integers_and_truth_values_are_equal() -> None:
    for dtype, right, wrong in (("bool", (True, False), (True, True)), ("int64", (2**60 + 1, 5), (2**60, 5))):
        reference = array(*right, dtype=dtype)
        assert difference(reference, reference, reference) is None
        assert difference(array(*wrong, dtype=dtype), reference, reference) is not None


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        ({"y": array(1.0), "n": 3, "rest": (array(2.0), None)}, True),
        ({"y": array(1.0), "n": 3, "rest": [array(2.0), None]}, True),
        ({"y": array(1.0), "n": 4, "rest": [array(2.0), None]}, False),
        ({"y": array(1.0), "n": True, "rest": [array(2.0), None]}, False),
        ({"x": array(1.0), "n": 3, "rest": [array(2.0), None]}, False),
        ([array(1.0), 3, [array(2.0), None]], False),
        ({"y": array(1.0, dtype="float64"), "n": 3, "rest": [array(2.0), None]}, False),
    ],
)
def test_all_that_is_returned_is_compared(answer: object, is_right: bool) -> None:
    rounded = {"y": array(1.0), "n": 3, "rest": (array(2.0), None)}
    exact = {"y": array(1.0, dtype="float64"), "n": 3, "rest": (array(2.0, dtype="float64"), None)}
    found = difference(answer, exact, rounded)
    assert (found is None) is is_right
    assert found is None or found.is_of_kind


def test_gradients_of_other_names_are_held_by_their_shapes() -> None:
    exact = {"input 0": array(5.0, dtype="float64"), "w": array(1.0, 2.0, dtype="float64")}
    rounded = {"input 0": array(5.0), "w": array(1.0, 2.0)}
    assert difference_of_gradients({"input 0": array(5.0), "kernel": array(1.0, 2.0)}, exact, rounded) is None
    assert difference_of_gradients({"input 0": array(5.0), "mine": array(1.0, 2.0, 3.0)}, exact, rounded) is None
    found = difference_of_gradients({"input 0": array(5.0), "kernel": array(1.0, 3.0)}, exact, rounded)
    assert found is not None
    assert "the gradient of kernel" in found.message


@pytest.mark.parametrize("answer", [array(1.0), array(1.0, 2.0, 3.0), array(float("nan"), 2.0), array(1.0, -2.0)])
def test_what_differs(answer: Array) -> None:
    assert difference(answer, array(1.0, 2.0, dtype="float64"), array(1.0, 2.0)) is not None
