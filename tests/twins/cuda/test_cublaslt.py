"""Products by cuBLASLt and what comes behind them, against NumPy."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opbridge.twins.cuda import toolchain as cuda_twin

R_32F, R_16F, R_16BF, R_8F = 0, 2, 14, 28
COMPUTE_32F = 68
TRANSA, TRANSB, EPILOGUE, BIAS, AUX, AUX_LEAD, SCALE_OF_A = 3, 4, 7, 8, 11, 12, 17
ORDER, BATCH_COUNT, APART = 1, 5, 6
DEFAULT, RELU, RELU_BIAS, GELU_AUX_BIAS, DGELU, BGRADB = 1, 2, 6, 164, 192, 512
OK, INVALID, NOT_SUPPORTED = 0, 7, 15

Array = np.ndarray[Any, np.dtype[Any]]


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return ctypes.CDLL(str(cuda_twin.library("cublas")))


class Products:
    """One description of a product, whose attributes are set one by one."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        self.handle, self.desc = ctypes.c_void_p(), ctypes.c_void_p()
        assert library.cublasLtCreate(ctypes.byref(self.handle)) == OK
        assert library.cublasLtMatmulDescCreate(ctypes.byref(self.desc), COMPUTE_32F, R_32F) == OK

    def say(self, attribute: int, value: Any) -> None:
        size = ctypes.c_size_t(ctypes.sizeof(value))
        assert self.library.cublasLtMatmulDescSetAttribute(self.desc, attribute, ctypes.byref(value), size) == OK

    def point(self, attribute: int, array: Array) -> None:
        self.say(attribute, ctypes.c_void_p(array.ctypes.data))

    def layout(self, kind: int, rows: int, columns: int, lead: int) -> ctypes.c_void_p:
        made, wide = ctypes.c_void_p(), [ctypes.c_uint64(n) for n in (rows, columns, lead)]
        assert self.library.cublasLtMatrixLayoutCreate(ctypes.byref(made), kind, *wide) == OK
        return made

    def set(self, layout: ctypes.c_void_p, attribute: int, value: Any) -> None:
        size = ctypes.c_size_t(ctypes.sizeof(value))
        assert self.library.cublasLtMatrixLayoutSetAttribute(layout, attribute, ctypes.byref(value), size) == OK

    def run(self, operands: list[tuple[Array, ctypes.c_void_p]], alpha: float = 1, beta: float = 0) -> int:
        (a, a_layout), (b, b_layout), (c, c_layout), (d, d_layout) = operands
        scalars = [ctypes.byref(ctypes.c_float(value)) for value in (alpha, beta)]
        at = [ctypes.c_void_p(array.ctypes.data) for array in (a, b, c, d)]
        status: int = self.library.cublasLtMatmul(
            self.handle, self.desc, scalars[0], at[0], a_layout, at[1], b_layout, scalars[1], at[2], c_layout, at[3],
            d_layout, None, None, ctypes.c_size_t(0), None,
        )  # fmt: skip
        return status


@pytest.fixture
def products(library: ctypes.CDLL) -> Any:
    made = Products(library)
    yield made
    library.cublasLtMatmulDescDestroy(made.desc)
    library.cublasLtDestroy(made.handle)


def by_columns(shape: tuple[int, int], dtype: Any = np.float32) -> Array:
    return np.asfortranarray(np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype))


@pytest.mark.parametrize(("kind", "dtype"), [(R_32F, np.float32), (R_16F, np.float16), (R_16BF, ml_dtypes.bfloat16)])
@pytest.mark.parametrize("turned", [False, True])
def test_products(products: Any, kind: int, dtype: Any, turned: bool) -> None:
    m, n, k = 5, 4, 3
    a, b, c = by_columns((k, m) if turned else (m, k), dtype), by_columns((k, n), dtype), by_columns((m, n))
    d = np.zeros((m, n), np.float32, order="F")
    products.say(TRANSA, ctypes.c_int(int(turned)))
    layouts = [products.layout(kind, *x.shape, len(x)) for x in (a, b)]
    whole = products.layout(R_32F, m, n, m)
    assert products.run([(a, layouts[0]), (b, layouts[1]), (c, whole), (d, whole)], 2, 3) == OK
    wide = (a.T if turned else a).astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_allclose(d, 2 * wide + 3 * c, rtol=1e-4, atol=1e-5)


def gelu(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@pytest.mark.parametrize("epilogue", [RELU, RELU_BIAS, GELU_AUX_BIAS])
def test_epilogues(products: Any, epilogue: int) -> None:
    a, b, bias = by_columns((6, 3)), by_columns((3, 4)), by_columns((6, 1))
    d, aux = (np.zeros((6, 4), np.float32, order="F") for _ in range(2))
    products.say(EPILOGUE, ctypes.c_int(epilogue))
    products.point(BIAS, bias)
    products.point(AUX, aux)
    products.say(AUX_LEAD, ctypes.c_int64(6))
    whole = products.layout(R_32F, 6, 4, 6)
    left, right = products.layout(R_32F, 6, 3, 6), products.layout(R_32F, 3, 4, 3)
    assert products.run([(a, left), (b, right), (d, whole), (d, whole)]) == OK
    plain = a @ b + (bias if epilogue != RELU else 0)
    np.testing.assert_allclose(d, gelu(plain) if epilogue == GELU_AUX_BIAS else np.maximum(plain, 0), atol=1e-5)
    if epilogue != GELU_AUX_BIAS:
        return
    np.testing.assert_allclose(aux, plain, atol=1e-5)
    products.say(EPILOGUE, ctypes.c_int(DGELU))
    assert products.run([(a, left), (b, right), (d, whole), (d, whole)]) == OK
    step = 1e-3
    slope = (gelu(plain.astype(np.float64) + step) - gelu(plain.astype(np.float64) - step)) / (2 * step)
    np.testing.assert_allclose(d, (a @ b) * slope, atol=1e-4)


def test_batches_by_rows_and_scaled_bytes(products: Any) -> None:
    a, b = (np.random.default_rng(i).integers(-4, 5, (2, 3, 3)).astype(ml_dtypes.float8_e4m3fn) for i in (1, 2))
    d, scale = np.zeros((2, 3, 3), np.float32), np.array([0.5], np.float32)
    products.point(SCALE_OF_A, scale)
    layouts = [products.layout(kind, 3, 3, 3) for kind in (R_8F, R_8F, R_32F)]
    for layout in layouts:
        products.set(layout, ORDER, ctypes.c_int(1))
        products.set(layout, BATCH_COUNT, ctypes.c_int(2))
        products.set(layout, APART, ctypes.c_int64(9))
    assert products.run([(a, layouts[0]), (b, layouts[1]), (d, layouts[2]), (d, layouts[2])]) == OK
    np.testing.assert_array_equal(d, 0.5 * (a.astype(np.float32) @ b.astype(np.float32)))


def test_what_does_not_fit_and_what_is_not_there(products: Any) -> None:
    a = by_columns((3, 3))
    square, wide = products.layout(R_32F, 3, 3, 3), products.layout(R_32F, 3, 4, 3)
    assert products.run([(a, wide), (a, square), (a, square), (a, square)]) == INVALID
    products.say(EPILOGUE, ctypes.c_int(BGRADB))
    assert products.run([(a, square), (a, square), (a, square), (a, square)]) == NOT_SUPPORTED
