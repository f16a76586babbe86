"""The matrix unit: its instructions one by one, and Matmul with the tilings of hosts, held against NumPy.

Two libraries: 15 s at first, then 4.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

SEED = 5
BFLOAT16 = "bfloat16"


def matrix(kind: str, rows: int, columns: int, seed: int = SEED) -> Any:
    """Numbers of which a few bits say all, so that sums of them are exact in any order."""
    integers = np.random.default_rng(seed).integers(-8, 9, (rows, columns))
    if kind == BFLOAT16:
        return as_bfloat16(integers.astype(np.float32))
    return integers.astype(kind)


def as_bfloat16(x: Any) -> Any:
    """Of numbers that it holds exactly, the upper halves."""
    return (np.ascontiguousarray(x, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def value(x: Any) -> Any:
    if x.dtype == np.uint16:
        return (x.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return x.astype(np.float64)


@pytest.fixture(scope="module")
def cube(twin: Callable[..., Any]) -> Any:
    return twin("cube.cpp")


@pytest.fixture(scope="module")
def matmul(twin: Callable[..., Any]) -> Any:
    return twin("matmul.cpp", "matmul_host.cpp")


@pytest.mark.parametrize(
    ("filter", "stride", "dilation", "pad"), [(1, 1, 1, 0), (3, 1, 1, 1), (3, 2, 1, 0), (2, 1, 2, 1)]
)
def test_windows_of_an_image_become_rows(cube: Any, filter: int, stride: int, dilation: int, pad: int) -> None:
    height, width = 6, 7
    x, w = matrix("float16", height * width, 16), matrix("float16", filter * filter * 16, 16, seed=6)
    padded = np.pad(x.reshape(height, width, 16), ((pad, pad), (pad, pad), (0, 0))).astype(np.float64)
    taps = w.reshape(filter, filter, 16, 16).astype(np.float64)
    window = dilation * (filter - 1) + 1
    tops, lefts = (range(0, n + 2 * pad - window + 1, stride) for n in (height, width))
    places = [padded[i : i + window : dilation, j : j + window : dilation] for i in tops for j in lefts]
    expected = np.einsum("mijc,ijco->mo", np.stack(places), taps)
    y = np.zeros(expected.shape, np.float32)
    cube.call("run_convolved", x, w, y, height, width, filter, stride, dilation, pad)
    np.testing.assert_array_equal(y, expected)


SHAPES = [(16, 16, 16), (32, 48, 64), (2, 3, 5), (33, 17, 47), (64, 64, 33), (1, 20, 256)]
TYPES = {
    "half_float": ("float16", np.float32),
    "half_half": ("float16", np.float16),
    "half_float_transposed": ("float16", np.float32),
    "bfloat16_float": (BFLOAT16, np.float32),
    "bfloat16_bfloat16": (BFLOAT16, np.uint16),
    "float_float_transposed": ("float32", np.float32),
    "int8_int32": ("int8", np.int32),
    "int8_int32_transposed": ("int8", np.int32),
    "int8_half": ("int8", np.float16),
}


def product(cube: Any, name: str, shape: tuple[int, int, int], **options: Any) -> tuple[Any, Any]:
    """What the kernel has computed, and what it should have."""
    m, n, k = shape
    kind, out = TYPES[name]
    a, b = matrix(kind, m, k), matrix(kind, k, n, SEED + 1)
    bias, times, scale, relu = (options.get(key) for key in ("bias", "times", "scale", "relu"))
    c = np.zeros((m, n), out)
    passed = np.ascontiguousarray(b.T) if "transposed" in name else b
    scale = 1.0 if scale is None else scale
    arguments = (a, passed, bias, c, m, n, k, times or 1, ctypes.c_float(scale), bool(relu))
    cube.call(f"run_{name}", *arguments)
    expected = (times or 1) * (value(a) @ value(b))
    if bias is not None:
        expected += value(bias[:n])
    expected = np.maximum(expected, 0) if relu else expected
    return value(c), expected * (scale if name == "int8_half" else 1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", TYPES)
def test_a_product_of_fractals(cube: Any, name: str, shape: tuple[int, int, int]) -> None:
    if shape[0] == 1 and TYPES[name][0] == "int8":
        shape = (1, shape[1], 512)
    got, expected = product(cube, name, shape, scale=0.5)
    rounded = {"half_half": 2e-3, "int8_half": 2e-3, "bfloat16_bfloat16": 1e-2}
    np.testing.assert_allclose(got, expected, rtol=rounded.get(name, 0))


@given(
    name=st.sampled_from(["half_float", "half_float_transposed", "float_float_transposed", "int8_int32"]),
    shape=st.tuples(st.integers(2, 70), st.integers(1, 70), st.integers(1, 70)),
)
def test_a_product_of_any_shape(cube: Any, name: str, shape: tuple[int, int, int]) -> None:
    got, expected = product(cube, name, shape)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", ["half_float", "int8_int32"])
def test_sums_start_at_a_bias_or_at_what_is_there(cube: Any, name: str) -> None:
    bias = matrix(np.dtype(TYPES[name][1]).name, 1, 64)[0]
    for options in ({"bias": bias}, {"times": 3}, {"relu": True}):
        got, expected = product(cube, name, (20, 40, 50), **options)
        np.testing.assert_array_equal(got, expected)


def test_fractals_lie_as_the_documents_say(cube: Any) -> None:
    rows, columns, height = 20, 24, 32
    x = np.arange(rows * columns, dtype=np.float16).reshape(rows, columns)
    y = np.zeros(2 * height * 16, np.float16)
    cube.run("as_fractals", x, y, rows, columns, height, y.nbytes)
    fractals = y.reshape(2, height, 16)
    np.testing.assert_array_equal(fractals[0, :rows], x[:, :16])
    np.testing.assert_array_equal(fractals[1, :rows, :8], x[:, 16:])
    np.testing.assert_array_equal(fractals[1, :rows, 8:], 0)
    np.testing.assert_array_equal(fractals[:, rows:], -1)


def test_a_wrong_layout_gives_the_product_of_other_matrices(cube: Any) -> None:
    a, b = matrix("float16", 32, 32), matrix("float16", 32, 32, SEED + 1)
    c = np.zeros((32, 32), np.float32)
    cube.run("wrong_order", a, b, c)
    mixed = a.reshape(2, 16, 2, 16).transpose(2, 1, 0, 3).reshape(32, 32)
    np.testing.assert_array_equal(c, value(mixed) @ value(b))
    assert (c != value(a) @ value(b)).any()


def tiling(
    matmul: Any, shape: tuple[int, int, int], item: int, cores: int = 1, base: int = 0, bias: bool = False
) -> Any:
    host = matmul._library
    data = np.zeros(host.size_of_tiling(), np.uint8)
    assert host.tile(data.ctypes.data_as(ctypes.c_void_p), *shape, item, cores, base, bias) == 0
    return data


MATMUL = {
    "half_float": ("float16", np.float32),
    "half_half": ("float16", np.float16),
    "bfloat16_float": (BFLOAT16, np.float32),
    "float_float": ("float32", np.float32),
    "int8_int32": ("int8", np.int32),
}


@pytest.mark.parametrize("shape", [(16, 16, 16), (100, 70, 50), (256, 128, 96), (1, 7, 3), (300, 33, 200)])
@pytest.mark.parametrize("name", MATMUL)
def test_matmul_on_several_cores(matmul: Any, name: str, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    kind, out = MATMUL[name]
    a, b = matrix(kind, m, k), matrix(kind, k, n, SEED + 1)
    addend = matrix("int32" if kind == "int8" else "float32", 1, n, SEED + 2)
    for blocks, left, right, bias in ((1, False, False, True), (2, True, False, False), (4, False, True, True)):
        data = tiling(matmul, shape, 2 if kind == BFLOAT16 else a.itemsize, cores=2 * blocks, bias=bias)
        c = np.zeros((m, n), out)
        matrices = (np.ascontiguousarray(a.T) if left else a, np.ascontiguousarray(b.T) if right else b)
        matmul.call(f"run_{name}", blocks, *matrices, addend, c, data, left, right)
        expected = value(a) @ value(b) + (value(addend) if bias else 0)
        np.testing.assert_allclose(value(c), expected, rtol=2e-3 if out == np.float16 else 0)


def test_blocks_of_a_product_go_through_the_unified_buffer(matmul: Any) -> None:
    shape = m, n, k = 96, 64, 80
    a, b, c = matrix("float16", m, k), matrix("float16", k, n, SEED + 1), np.zeros((m, n), np.float32)
    matmul.run("with_relu", a, b, c, tiling(matmul, shape, 2, base=32))
    np.testing.assert_array_equal(c, np.maximum(value(a) @ value(b), 0))


def test_sums_of_bytes_become_halves_by_factors(matmul: Any) -> None:
    m, n, k = 40, 48, 64
    a, b, data = matrix("int8", m, k), matrix("int8", k, n, SEED + 1), tiling(matmul, (m, n, k), 1, base=32)
    factors = np.linspace(0.1, 2, n).astype(np.float32)
    kept = (factors.view(np.uint32) & 0xFFFFE000).view(np.float32)
    c = np.zeros((m, n), np.float16)
    matmul.run("quantised", a, b, factors.view(np.uint32).astype(np.uint64), c, data, ctypes.c_uint64(0))
    np.testing.assert_array_equal(c, ((value(a) @ value(b)).astype(np.float32) * kept).astype(np.float16))
    matmul.run("quantised", a, b, None, c, data, ctypes.c_uint64(0x3F000000))
    np.testing.assert_array_equal(c, value(a) @ value(b) / 2)
    with pytest.raises(AssertionError, match=r"expected SetQuantScalar or SetQuantVector before"):
        matmul.run("quantised", a, b, None, c, data, ctypes.c_uint64(0))


def test_matrices_in_columns_of_fractals(matmul: Any) -> None:
    shape = m, n, k = 48, 32, 64
    a, b = matrix("float16", m, k), matrix("float16", k, n, SEED + 1)

    def in_columns(x: Any) -> Any:
        rows, columns = x.shape
        return np.ascontiguousarray(x.reshape(rows, columns // 16, 16).transpose(1, 0, 2))

    c = np.ones(m * n, np.float32)
    matmul.run("of_fractals", in_columns(a), b, c, tiling(matmul, shape, 2, base=16))
    np.testing.assert_array_equal(c, 1 + in_columns(value(a) @ value(b)).reshape(-1))
