"""cuSPARSE of the twin against SciPy, called as C."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.linalg import solve_triangular

from opbridge.twins.cuda import toolchain as cuda_twin

TYPES = {np.float32: 0, np.float64: 1, np.complex64: 4, np.complex128: 5}
INDEX = {np.int32: 2, np.int64: 3}
PLAIN, TRANSPOSED, CONJUGATE = range(3)
BY_COLUMNS, BY_ROWS = 1, 2
FILL, DIAGONAL = 0, 1
OK, INVALID = 0, 3

Array = np.ndarray[Any, np.dtype[Any]]


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return ctypes.CDLL(str(cuda_twin.library("cusparse")))


@pytest.fixture
def handle(library: ctypes.CDLL) -> Any:
    made = ctypes.c_void_p()
    assert library.cusparseCreate(ctypes.byref(made)) == OK
    yield made
    assert library.cusparseDestroy(made) == OK


def pointer(array: Array) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


def described(library: ctypes.CDLL, function: str, *arguments: Any) -> ctypes.c_void_p:
    made = ctypes.c_void_p()
    sizes = [ctypes.c_int64(a) if isinstance(a, int) else a for a in arguments]
    assert getattr(library, function)(ctypes.byref(made), *sizes) == OK
    return made


def drawn(shape: tuple[int, int], dtype: Any) -> Array:
    draw = np.random.default_rng(sum(shape))
    values = draw.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        values = values + 1j * draw.standard_normal(shape)
    return values.astype(dtype)


def matrix(library: ctypes.CDLL, dense: Array, layout: str, index: Any = np.int32, base: int = 0) -> tuple[Any, Any]:
    """Its description, and the arrays that this lends."""
    entries = getattr(sparse, f"{layout}_array")(dense)
    kind, of_index = ctypes.c_int(TYPES[dense.dtype.type]), ctypes.c_int(INDEX[index])
    first, second = (entries.row, entries.col) if layout == "coo" else (entries.indptr, entries.indices)
    arrays = [(a + base).astype(index) for a in (first, second)] + [entries.data]
    types = [of_index] * (1 if layout == "coo" else 2)
    made = described(
        library, f"cusparseCreate{layout.capitalize()}", *dense.shape, entries.nnz, *map(pointer, arrays), *types,
        ctypes.c_int(base), kind,
    )  # fmt: skip
    return made, arrays


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("layout", "index", "base"), [("csr", np.int32, 0), ("csc", np.int64, 1), ("coo", np.int32, 1)]
)
@pytest.mark.parametrize("op", [PLAIN, TRANSPOSED, CONJUGATE])
def test_products(library: ctypes.CDLL, handle: Any, dtype: Any, layout: str, index: Any, base: int, op: int) -> None:
    dense = drawn((7, 5), dtype) * (drawn((5, 7), np.float32).T > 0)
    a, _lent = matrix(library, dense, layout, index, base)
    wanted = {PLAIN: dense, TRANSPOSED: dense.T, CONJUGATE: dense.conj().T}[op]
    rows, columns = wanted.shape
    b, c = drawn((columns, 3), dtype), drawn((rows, 3), dtype)
    kind = ctypes.c_int(TYPES[dtype])
    alpha, beta = np.array([2], dtype), np.array([3], dtype)
    expected = 2 * (wanted @ b) + 3 * c
    near = 1e-10 if dtype in (np.float64, np.complex128) else 1e-4
    right = described(library, "cusparseCreateDnMat", columns, 3, 3, pointer(b), kind, ctypes.c_int(BY_ROWS))
    c_by_columns = np.asfortranarray(c)
    left = described(
        library, "cusparseCreateDnMat", rows, 3, rows, pointer(c_by_columns), kind, ctypes.c_int(BY_COLUMNS)
    )
    status = library.cusparseSpMM(handle, op, PLAIN, pointer(alpha), a, right, pointer(beta), left, kind, 0, None)
    assert status == OK
    np.testing.assert_allclose(c_by_columns, expected, rtol=near, atol=near)
    x, y = np.ascontiguousarray(b[:, 0]), np.ascontiguousarray(c[:, 0])
    vectors = [described(library, "cusparseCreateDnVec", len(v), pointer(v), kind) for v in (x, y)]
    status = library.cusparseSpMV(handle, op, pointer(alpha), a, vectors[0], pointer(beta), vectors[1], kind, 0, None)
    assert status == OK
    np.testing.assert_allclose(y, expected[:, 0], rtol=near, atol=near)


@pytest.mark.parametrize("op", [PLAIN, TRANSPOSED])
@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("unit", [0, 1])
def test_triangular_systems(library: ctypes.CDLL, handle: Any, op: int, upper: int, unit: int) -> None:
    dense = drawn((6, 6), np.float64) + 4 * np.eye(6)
    a, _lent = matrix(library, dense, "csr")
    for attribute, value in ((FILL, upper), (DIAGONAL, unit)):
        chosen = ctypes.c_int(value)
        assert library.cusparseSpMatSetAttribute(a, attribute, ctypes.byref(chosen), ctypes.c_size_t(4)) == OK
    x, y, alpha, kind = drawn((6, 1), np.float64)[:, 0].copy(), np.zeros(6), np.array([2.0]), ctypes.c_int(1)
    vectors = [described(library, "cusparseCreateDnVec", 6, pointer(v), kind) for v in (x, y)]
    state, size = described(library, "cusparseSpSV_createDescr"), ctypes.c_size_t()
    common = (handle, op, pointer(alpha), a, *vectors, kind, 0, state)
    assert library.cusparseSpSV_bufferSize(*common, ctypes.byref(size)) == OK
    assert library.cusparseSpSV_analysis(*common, None) == OK
    assert library.cusparseSpSV_solve(*common) == OK
    expected = solve_triangular(dense, 2 * x, lower=not upper, trans=op, unit_diagonal=bool(unit))
    np.testing.assert_allclose(y, expected, rtol=1e-9)


def test_what_does_not_fit(library: ctypes.CDLL, handle: Any) -> None:
    a, lent = matrix(library, np.eye(3), "csr")
    x, one, kind = np.zeros(4), np.ones(1), ctypes.c_int(1)
    four, three = (described(library, "cusparseCreateDnVec", n, pointer(x), kind) for n in (4, 3))

    def product(by: Any) -> int:
        status: int = library.cusparseSpMV(handle, 0, pointer(one), a, by, pointer(one), three, kind, 0, None)
        return status

    assert product(four) == INVALID
    lent[1][0] = 3  # a column beside the matrix
    assert product(three) == INVALID


def factored(library: ctypes.CDLL, handle: Any, a: Any, base: int = 0) -> tuple[Array, int, int]:
    """The values that incomplete LU leaves, and what it says of pivots: its status, and the row."""
    made, state, row = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    assert library.cusparseCreateMatDescr(ctypes.byref(made)) == OK
    assert library.cusparseSetMatIndexBase(made, base) == OK
    assert library.cusparseCreateCsrilu02Info(ctypes.byref(state)) == OK
    offsets, columns = ((part + base).astype(np.int32) for part in (a.indptr, a.indices))
    values = a.data.copy()
    arguments = (handle, a.shape[0], a.nnz, made, pointer(values), pointer(offsets), pointer(columns), state, 0, None)
    letter = {np.float32: "S", np.float64: "D", np.complex64: "C", np.complex128: "Z"}[values.dtype.type]
    assert getattr(library, f"cusparse{letter}csrilu02_analysis")(*arguments) == OK
    assert getattr(library, f"cusparse{letter}csrilu02")(*arguments) == OK
    status = library.cusparseXcsrilu02_zeroPivot(handle, state, ctypes.byref(row))
    assert library.cusparseDestroyCsrilu02Info(state) == library.cusparseDestroyMatDescr(made) == OK
    return values, status, row.value


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("base", [0, 1])
def test_incomplete_lu_is_right_wherever_the_matrix_has_entries(
    library: ctypes.CDLL, handle: Any, dtype: Any, base: int
) -> None:
    n = 12
    dense = drawn((n, n), dtype) * (np.random.default_rng(1).random((n, n)) < 0.4) + 9 * np.eye(n, dtype=dtype)
    a = sparse.csr_array(dense.astype(dtype))
    values, status, row = factored(library, handle, a, base)
    assert (status, row) == (OK, -1)
    factors = sparse.csr_array((values, a.indices, a.indptr), a.shape).toarray()
    product = (np.tril(factors, -1) + np.eye(n)) @ np.triu(factors)
    there = a.toarray() != 0
    np.testing.assert_allclose(
        product[there], a.toarray()[there], rtol=1e-4 if dtype in (np.float32, np.complex64) else 1e-12
    )
    assert np.abs(product[~there]).max() > 0, "what fills the other places is left out"


def test_incomplete_lu_says_which_pivot_is_missing_or_zero(library: ctypes.CDLL, handle: Any) -> None:
    zero = 9
    missing = sparse.csr_array(np.array([[1.0, 2, 0], [3, 0, 1], [0, 0, 1]]))
    assert factored(library, handle, missing)[1:] == (zero, 1)
    cancelled = sparse.csr_array(np.array([[1.0, 2, 0], [3, 6, 1], [0, 0, 1]]))
    assert factored(library, handle, cancelled, base=1)[1:] == (zero, 2)
