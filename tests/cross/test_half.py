"""NEON's halves, and a kernel that is called as MindSpore calls it, in an emulated process of aarch64."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.include.test_half import floats_that_round, same_bits

from opbridge.build.toolchains import INCLUDE, BuildRequest

SOURCE = Path(__file__).parent / "half.cpp"


@pytest.fixture(scope="module")
def halves(cross_built: Any) -> Any:
    return cross_built(BuildRequest((SOURCE,), "half.so", include_dirs=(INCLUDE,)))


def test_every_half_becomes_the_right_float(halves: Any) -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    results = np.zeros((2, bits.size), np.float32)
    halves.run("widen", bits.size, bits, *results)
    expected = bits.view(np.float16).astype(np.float32)
    for result in results:
        assert np.isnan(result[np.isnan(expected)]).all()
        same_bits(result.view(np.uint32), expected.view(np.uint32), np.isnan(expected))


@pytest.mark.filterwarnings("ignore:(invalid value|overflow) encountered")
def test_floats_round_to_the_nearest_even_half(halves: Any) -> None:
    x = floats_that_round()
    results = np.zeros((2, x.size), np.uint16)
    halves.run("narrow", x.size, x, *results)
    expected = x.astype(np.float16)
    for result in results:
        np.testing.assert_array_equal(np.isnan(result.view(np.float16)), np.isnan(x))
        same_bits(result, expected.view(np.uint16), np.isnan(x))


@pytest.mark.filterwarnings("ignore:(invalid value|divide by zero|overflow|underflow) encountered")
def test_arithmetic_rounds_once(halves: Any) -> None:
    x, y = np.random.default_rng(0).integers(0, 1 << 16, (2, 1 << 16), dtype=np.uint16)
    out = np.zeros((4, x.size), np.uint16)
    halves.run("arithmetic", x.size, x, y, out)
    for operation, got in zip(("add", "sub", "mul", "truediv"), out, strict=True):
        wide = getattr(operator, operation)(
            x.view(np.float16).astype(np.float32), y.view(np.float16).astype(np.float32)
        )
        expected = wide.astype(np.float16)
        same_bits(got, expected.view(np.uint16), np.isnan(expected))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_kernel_by_its_plain_c_call(halves: Any, dtype: str) -> None:
    x = np.random.default_rng(1).normal(size=1001).astype(dtype)
    out = np.zeros_like(x)
    halves.run("call_leaky_relu", x.size, np.frombuffer(f"{dtype}\0".encode(), np.uint8), x, out)
    np.testing.assert_array_equal(out, np.where(x > 0, x, x * np.float32(0.25)).astype(dtype))
