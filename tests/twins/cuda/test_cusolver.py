"""cuSOLVER of the twin against NumPy, called as C."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from opbridge.twins.cuda import toolchain as cuda_twin

TYPES = {"S": np.float32, "D": np.float64, "C": np.complex64, "Z": np.complex128}
PLAIN, TRANSPOSED, CONJUGATE = range(3)
LOWER, UPPER = range(2)

Array = np.ndarray[Any, np.dtype[Any]]


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return ctypes.CDLL(str(cuda_twin.library("cusolver")))


@pytest.fixture
def solver(library: ctypes.CDLL) -> Any:
    handle = ctypes.c_void_p()
    assert library.cusolverDnCreate(ctypes.byref(handle)) == 0

    def call(name: str, *arguments: Any) -> None:
        passed = [a.ctypes.data_as(ctypes.c_void_p) if isinstance(a, np.ndarray) else a for a in arguments]
        assert getattr(library, f"cusolverDn{name}")(handle, *passed) == 0

    yield call
    assert library.cusolverDnDestroy(handle) == 0


def drawn(shape: tuple[int, int], dtype: Any) -> Array:
    draw = np.random.default_rng(sum(shape))
    values = draw.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        values = values + 1j * draw.standard_normal(shape)
    return np.asfortranarray(values.astype(dtype))


@pytest.mark.parametrize("letter", TYPES)
class TestOfEachType:
    @pytest.mark.parametrize("op", [PLAIN, TRANSPOSED, CONJUGATE])
    def test_systems_by_lu(self, solver: Any, letter: str, op: int) -> None:
        dtype, n = TYPES[letter], 6
        a, x, info, pivots = drawn((n, n), dtype), drawn((n, 2), dtype), np.ones(1, np.int32), np.zeros(n, np.int32)
        turned = {PLAIN: a, TRANSPOSED: a.T, CONJUGATE: a.conj().T}[op]
        b, lu, size = np.asfortranarray(turned @ x), a.copy(order="F"), np.zeros(1, np.int32)
        solver(f"{letter}getrf_bufferSize", n, n, lu, n, size)
        solver(f"{letter}getrf", n, n, lu, n, np.zeros(size[0], dtype), pivots, info)
        assert info[0] == 0
        solver(f"{letter}getrs", op, n, 2, lu, n, pivots, b, n, info)
        np.testing.assert_allclose(b, x, atol=1e-9 if letter in "DZ" else 2e-3)

    @pytest.mark.parametrize("fill", [LOWER, UPPER])
    def test_systems_by_cholesky(self, solver: Any, letter: str, fill: int) -> None:
        dtype, n = TYPES[letter], 6
        root, x, info = drawn((n, n), dtype), drawn((n, 2), dtype), np.ones(1, np.int32)
        a = np.asfortranarray(root @ root.conj().T + n * np.eye(n)).astype(dtype)
        b = np.asfortranarray(a @ x)
        half = np.asfortranarray(np.triu(a) if fill == UPPER else np.tril(a))
        solver(f"{letter}potrf", fill, n, half, n, np.zeros(1, dtype), 1, info)
        assert info[0] == 0
        expected = np.linalg.cholesky(a)
        near = 1e-9 if letter in "DZ" else 1e-3
        np.testing.assert_allclose(half, expected.conj().T if fill == UPPER else expected, atol=near)
        solver(f"{letter}potrs", fill, n, 2, half, n, b, n, info)
        np.testing.assert_allclose(b, x, atol=near)


def test_what_has_no_solution_says_where(solver: Any) -> None:
    info, pivots = np.zeros(1, np.int32), np.zeros(3, np.int32)
    singular = np.asfortranarray(np.diag([1.0, 0.0, 2.0]))
    solver("Dgetrf", 3, 3, singular, 3, np.zeros(1), pivots, info)
    assert info[0] == 2
    negative = np.asfortranarray(np.diag([1.0, 2.0, -1.0]))
    solver("Dpotrf", LOWER, 3, negative, 3, np.zeros(1), 1, info)
    assert info[0] == 3
