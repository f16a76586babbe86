"""Tensors between frameworks: rounding, making, and telling how near two of them are."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbridge.verify.check.arrays import Array, arguments, distance, mismatch
from opbridge.verify.check.inputs import Case
from opbridge.waist.manifest.samples import TensorSample

doubles = st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=8)


@given(doubles)
def test_bfloat16_is_rounded_as_others_round_it(values: list[float]) -> None:
    singles = np.array(values, np.float32)
    assert np.array_equal(Array.of(singles, "bfloat16").values, singles.astype(ml_dtypes.bfloat16).astype(np.float64))


@given(doubles, st.sampled_from(["float16", "bfloat16", "float32", "float64"]))
def test_rounding_twice_is_rounding_once(values: list[float], dtype: str) -> None:
    with np.errstate(over="ignore"):
        once = Array.of(np.array(values), dtype)
        assert Array.of(once.values, dtype).same_bits(once)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "bfloat16", "float64", "complex64"])
def test_the_same_seed_gives_the_same_values(dtype: str) -> None:
    case = Case({"x": TensorSample(dtype, (5, 7)), "n": 3})
    first, again, other = (arguments(case, seed) for seed in (1, 1, 2))
    assert first["x"].same_bits(again["x"])
    assert not first["x"].same_bits(other["x"])
    assert (first["n"], first["x"].shape, first["x"].dtype) == (3, (5, 7), dtype)


def test_samples_say_elements_and_ranges() -> None:
    case = Case(
        {
            "data": TensorSample("int64", (2, 2), data=((1, 2), (3, 4))),
            "fill": TensorSample("float32", (3,), fill=0.5),
            "range": TensorSample("float64", (100,), low=2.0, high=2.5),
        }
    )
    made = arguments(case, 0)
    assert made["data"].values.tolist() == [[1, 2], [3, 4]]
    assert made["fill"].values.tolist() == [0.5] * 3
    assert 2.0 <= made["range"].values.min() <= made["range"].values.max() <= 2.5


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.0, 2.1], [1.0, 2.0], 0.05),
        ([math.nan, 2.0], [math.nan, 2.0], 0.0),
        ([math.inf, 2.0], [math.inf, 2.0], 0.0),
        ([math.inf, 2.0], [1.0, 2.0], math.inf),
        ([math.nan, 2.0], [1.0, 2.0], math.inf),
        ([], [], 0.0),
    ],
)
def test_distance_is_in_parts_of_the_largest_value(ours: list[float], theirs: list[float], expected: float) -> None:
    pair = (Array(np.array(values), "float64") for values in (ours, theirs))
    assert distance(*pair) == pytest.approx(expected)


def test_numbers_are_shown_with_the_digits_in_which_they_differ() -> None:
    want = Array.of(np.array([-3.0526507]), "float64")
    for off, shown in ((1e-3, "-3.05165 instead of -3.05265"), (1e-8, "-3.05265069 instead of -3.0526507")):
        assert mismatch([Array.of(want.values + off, "float64")], [want], 0.0) == f"gives {shown} at [0]"
    (text,) = {mismatch([Array.of(np.nextafter(want.values, 0), "float64")], [want], 0.0)}
    ours, theirs = text.removeprefix("gives ").removesuffix(" at [0]").split(" instead of ")
    assert ours != theirs


def test_a_mismatch_says_where_and_what() -> None:
    want = Array.of(np.zeros((2, 3)), "float64")
    got = Array.of(np.array([[0, 0, 0], [0, 7.5, 0]]), "float64")
    assert mismatch([got], [want]) == "gives 7.5 instead of 0 at [1, 1]"
    assert mismatch([want, got], [want, want]) == "output 1: gives 7.5 instead of 0 at [1, 1]"
    assert mismatch([Array.of(np.zeros(3), "float64")], [want]) == "gives shape [3] instead of [2, 3]"
    assert mismatch([], [want]) == "gives 0 results instead of 1"
    assert mismatch([want], [want]) == ""
