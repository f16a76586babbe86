"""The high-level functions of elements, in each of their forms, held against the same in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

TYPES: dict[str, Any] = {"half": np.float16, "float": np.float32, "int32_t": np.int32, "int16_t": np.int16}
CLOSE = {"half": 1e-3, "float": 2e-6}


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def gelu(x: Any) -> Any:
    return x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2


def gelu_by_polynomial(x: Any) -> Any:
    inside = np.minimum(abs(0.7071 * x), 1.769) - 1.769
    return x * (np.sign(x) * (-0.1444 * inside**2 + 0.5) + 0.5)


ONE: dict[str, tuple[Callable[[Any], Any], float, float]] = {
    "Sin": (np.sin, -20, 20),
    "Cos": (np.cos, -20, 20),
    "Tan": (np.tan, -1.5, 1.5),
    "Asin": (np.arcsin, -1, 1),
    "Acos": (np.arccos, -1, 1),
    "Atan": (np.arctan, -20, 20),
    "Sinh": (np.sinh, -5, 5),
    "Cosh": (np.cosh, -5, 5),
    "Tanh": (np.tanh, -5, 5),
    "Asinh": (np.arcsinh, -20, 20),
    "Acosh": (np.arccosh, 1, 20),
    "Atanh": (np.arctanh, -0.9, 0.9),
    "Erf": (np.vectorize(math.erf), -3, 3),
    "Erfc": (np.vectorize(math.erfc), -3, 3),
    "Lgamma": (np.vectorize(math.lgamma), 0.5, 20),
    "Log": (np.log, 0.1, 20),
    "Log2": (np.log2, 0.1, 20),
    "Log10": (np.log10, 0.1, 20),
    "Floor": (np.floor, -20, 20),
    "Ceil": (np.ceil, -20, 20),
    "Trunc": (np.trunc, -20, 20),
    "Round": (np.rint, -20, 20),
    "Frac": (lambda x: x - np.trunc(x), -20, 20),
    "Sign": (np.sign, -2, 2),
    "Sigmoid": (sigmoid, -10, 10),
    "Gelu": (gelu, -5, 5),
    "FasterGelu": (lambda x: x * sigmoid(1.702 * x), -5, 5),
    "FasterGeluV2": (gelu_by_polynomial, -5, 5),
    "Silu": (lambda x: x * sigmoid(x), -5, 5),
    "Swish": (lambda x: x * sigmoid(2 * x), -5, 5),
    "Exp": (np.exp, -5, 5),
    "ClampMax": (lambda x: np.minimum(x, 1), -3, 3),
    "ClampMin": (lambda x: np.maximum(x, 1), -3, 3),
}


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("name", ONE)
def test_of_one_tensor(functions: Any, name: str, dtype: str) -> None:
    reference, low, high = ONE[name]
    x = np.linspace(low, high, 96).astype(TYPES[dtype])
    x[::7] = np.clip(np.rint(x[::7]), low, high)
    expected = reference(x.astype(np.float64))
    for form in range(4):
        z = np.empty_like(x)
        functions.call(f"one_{dtype}", name.encode(), form, x, z, len(x))
        np.testing.assert_allclose(z, expected, rtol=CLOSE[dtype], atol=CLOSE[dtype])


TWO: dict[str, Callable[[Any, Any], Any]] = {
    "Power": lambda x, y: abs(x) ** y,
    "PowerOfScalar": lambda x, y: 2.0**y,
    "PowerToScalar": lambda x, y: x**2,
    "Fmod": np.fmod,
    "GeGLU": lambda x, y: x * gelu(y),
    "ReGlu": lambda x, y: x * np.maximum(y, 0),
    "SwiGLU": lambda x, y: x * y * sigmoid(2 * y),
}


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("name", TWO)
def test_of_two_tensors(functions: Any, name: str, dtype: str) -> None:
    numbers = np.random.default_rng(0).uniform(-3, 3, (2, 64)).astype(TYPES[dtype])
    x, y = (abs(numbers[0]) if name == "Power" else numbers[0]), numbers[1]
    expected = TWO[name](x.astype(np.float64), y.astype(np.float64))
    for form in range(4):
        z = np.empty_like(x)
        functions.call(f"two_{dtype}", name.encode(), form, x, y, z, len(x))
        np.testing.assert_allclose(z, expected, rtol=CLOSE[dtype], atol=CLOSE[dtype])


def test_powers_of_integers_wrap(functions: Any) -> None:
    x = np.arange(-8, 8, dtype=np.int32)
    y = np.array([0, 1, 2, 3, 5, 12, 31, 40] * 2, np.int32)
    z = np.empty_like(x)
    functions.call("two_int32_t", b"Power", 0, x, y, z, len(x))
    exact = [(int(a) ** int(b) + 2**31) % 2**32 - 2**31 for a, b in zip(x, y, strict=True)]
    np.testing.assert_array_equal(z, exact)


def test_exclusive_or(functions: Any) -> None:
    x, y = np.random.default_rng(1).integers(-(2**15), 2**15, (2, 64)).astype(np.int16)
    z = np.empty_like(x)
    functions.call("two_int16_t", b"Xor", 3, x, y, z, len(x))
    np.testing.assert_array_equal(z, x ^ y)
