"""What real programs use beside plain kernels: WMMA, pipelines, random numbers, attributes of launches."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.twins.cuda.conftest import ON_GPU, twin_only


@pytest.fixture(scope="module", params=[False, True], ids=["fast", "checked"])
def kernels(request: pytest.FixtureRequest, twin: Any) -> Any:
    return twin("fragments.cu", checks=request.param)


@pytest.fixture
def device(kernels: Any, on_device: Any) -> Any:
    return on_device(kernels)


@pytest.mark.parametrize(
    ("function", "shape", "dtype", "sums"),
    [
        ("of_halves", (16, 16, 16), np.float16, np.float32),
        ("in_halves", (32, 8, 16), np.float16, np.float16),
        ("of_bfloat16", (8, 32, 16), ml_dtypes.bfloat16, np.float32),
        ("of_bytes", (16, 16, 16), np.int8, np.int32),
        ("of_tf32", (16, 16, 8), np.float32, np.float32),
        ("of_doubles", (8, 8, 4), np.float64, np.float64),
    ],
)
def test_products_of_fragments(
    kernels: Any, device: Any, function: str, shape: tuple[int, int, int], dtype: Any, sums: Any
) -> None:
    m, n, k = shape
    draw = np.random.default_rng(0)
    # Whole numbers below 8 are exact in each type, and so are their products and sums.
    a, b, c = (draw.integers(-7, 8, size).astype(of) for size, of in (((m, k), dtype), ((k, n), dtype), ((m, n), sums)))
    found = device(np.zeros((m, n), sums))
    # NumPy lends no bfloat16 to C, so what is moved are the bytes.
    left, right = (device(np.ascontiguousarray(x).view(np.uint8)) for x in (a, b.T))
    kernels.run(function, left, right, device(c), found, 32)
    expected = 2 * (a.astype(np.float64) @ b.astype(np.float64)) + c.astype(np.float64)
    np.testing.assert_array_equal(found.astype(np.float64), expected)


def test_fragments_of_bytes_begin_at_what_a_lane_loads(kernels: Any, device: Any) -> None:
    rows = np.random.default_rng(1).integers(-7, 8, (16, 32)).astype(np.int8)
    found = device(np.zeros((16, 16), np.int32))
    kernels.run("run_trace_of_second_half", device(rows), found)
    half = rows[:, 16:].astype(np.int32)
    np.testing.assert_array_equal(found, half @ half.T)


@twin_only
def test_a_warp_that_is_not_whole_has_no_fragments(kernels: Any, device: Any) -> None:
    a, c = device(np.zeros((16, 16), np.float16)), device(np.zeros((16, 16), np.float32))
    assert kernels.call("of_halves", a, a, c, c, 16) != 0
    assert "load_matrix_sync: not all 32 lanes of the warp have come to it" in kernels.reports


def test_copies_in_a_pipeline(kernels: Any, device: Any) -> None:
    values = np.arange(256, dtype=np.float32).reshape(2, 32, 4)
    to = device(np.zeros(32, np.float32))
    kernels.run("run_piped", device(values), to)
    # Of the second stage's last eight bytes nothing was read.
    expected = values[1, ::-1, :2].sum(axis=1) + values[0, ::-1, 3]
    np.testing.assert_array_equal(to, expected)
    not_supported = 801
    assert ON_GPU or kernels.call("in_clusters", to) == not_supported


BITS = {
    "xorwow": [[624778773, 1867875844, 3739671282], [3522650202, 3978931785, 2198015705]],
    "mrg": [[3379073520, 2521876100, 213678209], [653317650, 2890950871, 2749090064]],
    "philox": [
        [546353992, 3665621163, 1140953199, 3419031310, 2666454581],
        [3507855656, 1392278645, 3354607383, 253049307],
    ],
}


@pytest.mark.parametrize("generator", BITS)
def test_random_numbers_of_threads(kernels: Any, device: Any, generator: str) -> None:
    bits, normal = device(np.zeros((4, 5), np.uint32)), device(np.zeros((4, 2), np.float32))
    kernels.run(f"draw_{generator}", bits, normal)
    for found, expected in zip(bits.tolist(), BITS[generator], strict=False):
        assert found[: len(expected)] == expected
    # From the third number on, by the definition of Box and Muller.
    u, v = (bits[:, i].astype(np.float64) / 2**32 for i in (2, 3))
    size, angle = np.sqrt(-2 * np.log(u)), 2 * np.pi * v
    np.testing.assert_allclose(normal, np.stack([size * np.sin(angle), size * np.cos(angle)], axis=1), atol=1e-4)


def test_memory_of_pools(kernels: Any) -> None:
    threshold = ctypes.c_ulonglong()
    kernels.run("pooled", ctypes.byref(threshold))
    assert threshold.value == 1 << 20
