"""cuBLAS of the twin against NumPy, called as C."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opbridge.analysis.judge.process.record_channel import Records
from opbridge.analysis.judge.process.twin_functions import twin_function
from opbridge.twins.cuda import INCLUDE
from opbridge.twins.cuda import toolchain as cuda_twin

Array = np.ndarray[Any, np.dtype[Any]]
Call = Callable[..., None]

TYPES = {"S": np.float32, "D": np.float64, "C": np.complex64, "Z": np.complex128}
OPERATIONS: dict[int, Callable[[Array], Array]] = {0: lambda a: a, 1: lambda a: a.T, 2: lambda a: a.conj().T}
TYPE_NUMBERS = {"float32": 0, "float64": 1, "float16": 2, "int8": 3, "int32": 10, "bfloat16": 14}
COMPUTE = {"float16": 64, "float32": 68, "float64": 70, "int32": 72}
LOWER, UPPER, LEFT, RIGHT = 0, 1, 0, 1


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return ctypes.CDLL(str(cuda_twin.library("cublas")))


@pytest.fixture
def blas(library: ctypes.CDLL) -> Any:
    handle = ctypes.c_void_p()
    assert library.cublasCreate_v2(ctypes.byref(handle)) == 0

    def call(name: str, *arguments: Any, status: int = 0) -> None:
        """Arrays and scalars of NumPy go in as pointers."""
        passed = [a.ctypes.data_as(ctypes.c_void_p) if isinstance(a, np.ndarray) else a for a in arguments]
        assert getattr(library, name)(handle, *passed) == status

    yield call
    assert library.cublasDestroy_v2(handle) == 0


def random(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Array:
    generator = np.random.default_rng(seed + sum(shape))
    values = generator.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        values = values + 1j * generator.standard_normal(shape)
    return np.asfortranarray(values.astype(dtype))


def near(found: Array, expected: Array) -> None:
    precise = found.dtype in (np.float64, np.complex128)
    np.testing.assert_allclose(found, expected, rtol=1e-10 if precise else 2e-4, atol=1e-10 if precise else 2e-4)


def scalar(value: float, dtype: Any) -> Array:
    return np.array([value], dtype)


@pytest.mark.parametrize("letter", TYPES)
class TestOfEachType:
    @pytest.mark.parametrize(("op_a", "op_b"), list(product(OPERATIONS, OPERATIONS)))
    def test_products(self, blas: Call, letter: str, op_a: int, op_b: int) -> None:
        dtype, m, n, k = TYPES[letter], 5, 7, 3
        a = random((m, k) if op_a == 0 else (k, m), dtype)
        b = random((k, n) if op_b == 0 else (n, k), dtype)
        c = random((m + 2, n), dtype)  # whose columns lie apart
        expected = c.copy()
        expected[:m] = 2 * (OPERATIONS[op_a](a) @ OPERATIONS[op_b](b)) + 3 * c[:m]
        two, three = scalar(2, dtype), scalar(3, dtype)
        blas(f"cublas{letter}gemm", op_a, op_b, m, n, k, two, a, len(a), b, len(b), three, c, m + 2)
        near(c, expected)

    def test_products_of_many(self, blas: Call, letter: str) -> None:
        dtype, n, count = TYPES[letter], 4, 3
        a, b = (random((count * n * n,), dtype, seed) for seed in (1, 2))
        c = np.full(count * n * n, np.nan, dtype)  # which beta 0 does not read
        one, zero = scalar(1, dtype), scalar(0, dtype)
        stride = ctypes.c_longlong(n * n)
        blas(f"cublas{letter}gemmStridedBatched", 0, 0, n, n, n, one, a, n, stride, b, n, stride, zero, c, n, stride,
             count)  # fmt: skip
        matrices = [one.reshape(count, n, n).transpose(0, 2, 1) for one in (a, b, c)]
        near(matrices[2], matrices[0] @ matrices[1])
        pointers = [np.array([x.ctypes.data + i * n * n * x.itemsize for i in range(count)]) for x in (a, b, c)]
        c[:] = 0
        blas(f"cublas{letter}gemmBatched", 0, 0, n, n, n, one, pointers[0], n, pointers[1], n, zero, pointers[2], n,
             count)  # fmt: skip
        near(matrices[2], matrices[0] @ matrices[1])

    @pytest.mark.parametrize("op", OPERATIONS)
    @pytest.mark.parametrize("step", [1, 2, -1])
    def test_a_matrix_and_a_vector(self, blas: Call, letter: str, op: int, step: int) -> None:
        dtype = TYPES[letter]
        a = random((4, 6), dtype)
        rows, columns = OPERATIONS[op](a).shape
        x, y = random((columns * abs(step),), dtype), random((rows,), dtype, 3)
        expected = 2 * (OPERATIONS[op](a) @ x[::step][:columns]) + y
        two, one = scalar(2, dtype), scalar(1, dtype)
        if step > 0:
            blas(f"cublas{letter}gemv", op, 4, 6, two, a, 4, x, step, one, y, 1)
        else:
            blas(f"cublas{letter}gemv", op, 4, 6, two, a, 4, x, -1, one, y, 1)
        near(y, expected)

    @pytest.mark.parametrize(("side", "fill", "op", "unit"), list(product((0, 1), (0, 1), OPERATIONS, (0, 1))))
    def test_triangles_are_solved(self, blas: Call, letter: str, side: int, fill: int, op: int, unit: int) -> None:
        dtype, m, n = TYPES[letter], 4, 3
        order = m if side == LEFT else n
        a = random((order, order), dtype) + np.asfortranarray(3 * np.eye(order, dtype=dtype))
        a = np.asfortranarray(a)
        b = random((m, n), dtype, 1)
        whole = np.tril(a) if fill == LOWER else np.triu(a)
        if unit:
            np.fill_diagonal(whole, 1)
        whole = OPERATIONS[op](whole)
        expected = 2 * (np.linalg.solve(whole, b) if side == LEFT else np.linalg.solve(whole.T, b.T).T)
        two = scalar(2, dtype)
        blas(f"cublas{letter}trsm", side, fill, op, unit, m, n, two, a, order, b, m)
        near(b, expected)

    def test_vectors(self, blas: Call, letter: str) -> None:
        dtype = TYPES[letter]
        x, y = random((6,), dtype, 4), random((6,), dtype, 5)
        size = np.abs(x.real) + np.abs(x.imag)
        found = np.zeros(1, np.int32)
        blas(f"cublasI{letter}amax_v2", 6, x, 1, found)
        assert found[0] == size.argmax() + 1
        blas(f"cublasI{letter}amin_v2", 6, x, 1, found)
        assert found[0] == size.argmin() + 1
        expected, three = 3 * x + y, scalar(3, dtype)
        blas(f"cublas{letter}axpy", 6, three, x, 1, y, 1)
        near(y, expected)
        blas(f"cublas{letter}scal", 3, three, y, 2)
        expected[::2] *= 3
        near(y, expected)
        real = np.zeros(1, x.real.dtype)
        prefix = {"C": "Sc", "Z": "Dz"}.get(letter, letter)
        blas(f"cublas{prefix}nrm2", 6, x, 1, real)
        near(real, np.array([np.linalg.norm(x)]))
        blas(f"cublas{prefix}asum", 6, x, 1, real)
        near(real, np.array([size.sum()]))
        for kind in ("u", "c") if letter in "CZ" else ("",):
            value = np.zeros(1, dtype)
            blas(f"cublas{letter}dot{kind}", 6, x, 1, y, 1, value)
            near(value, np.array([np.dot(x.conj() if kind == "c" else x, y)]))

    def test_sums_and_symmetric_matrices(self, blas: Call, letter: str) -> None:
        dtype, one, two = TYPES[letter], scalar(1, TYPES[letter]), scalar(2, TYPES[letter])
        a, b, c = random((3, 4), dtype), random((4, 3), dtype, 1), np.zeros((3, 4), dtype, order="F")
        blas(f"cublas{letter}geam", 0, 1, 3, 4, one, a, 3, two, b, 4, c, 3)
        near(c, a + 2 * b.T)
        s = random((3, 3), dtype, 2)
        whole = np.tril(s) + np.tril(s, -1).T
        blas(f"cublas{letter}symm", LEFT, LOWER, 3, 4, two, s, 3, a, 3, one, c, 3)
        near(c, a + 2 * b.T + 2 * whole @ a)
        lower = np.zeros((3, 3), dtype, order="F")
        blas(f"cublas{letter}syrk", LOWER, 0, 3, 4, one, a, 3, scalar(0, dtype), lower, 3)
        near(lower, np.tril(a @ a.T))
        x = random((4,), dtype, 3)
        blas(f"cublas{letter}dgmm", RIGHT, 3, 4, a, 3, x, 1, c, 3)
        near(c, a * x)

    def test_factors_and_inverses(self, blas: Call, letter: str) -> None:
        dtype, n = TYPES[letter], 4
        a, b = random((n, n), dtype), random((n, 2), dtype, 1)
        lu, inverse = a.copy(order="F"), np.zeros_like(a)
        pivots, info = np.zeros(n, np.int32), np.full(1, 9, np.int32)
        at = [np.array([x.ctypes.data]) for x in (lu, inverse, b)]
        blas(f"cublas{letter}getrfBatched", n, at[0], n, pivots, info, 1)
        assert info[0] == 0
        blas(f"cublas{letter}getriBatched", n, at[0], n, pivots, at[1], n, info, 1)
        near(inverse @ a, np.eye(n, dtype=dtype))
        for op in OPERATIONS:
            solved = b.copy(order="F")
            at[2][0] = solved.ctypes.data
            blas(f"cublas{letter}getrsBatched", op, n, 2, at[0], n, pivots, at[2], n, info, 1)
            near(solved, np.linalg.solve(OPERATIONS[op](a), b))
        tall, right = random((6, 3), dtype), random((6, 1), dtype, 2)
        expected = np.linalg.lstsq(tall, right, rcond=None)[0]
        places = [np.array([x.ctypes.data]) for x in (tall, right)]
        blas(f"cublas{letter}gelsBatched", 0, 6, 3, 1, places[0], 6, places[1], 6, info, None, 1)
        near(right[:3], expected)


@pytest.mark.parametrize(
    ("name", "result", "compute"),
    [
        ("float16", "float16", "float16"),
        ("float16", "float32", "float32"),
        ("bfloat16", "bfloat16", "float32"),
        ("int8", "int32", "int32"),
        ("float64", "float64", "float64"),
    ],
)
def test_products_of_types_that_are_arguments(blas: Call, name: str, result: str, compute: str) -> None:
    types = {"bfloat16": ml_dtypes.bfloat16}
    dtype, to = (np.dtype(types.get(one, one)) for one in (name, result))
    a, b = (np.asfortranarray((4 * random((5, 5), np.float64, seed)).astype(dtype)) for seed in (0, 1))
    c = np.zeros((5, 5), to, order="F")
    one, zero = scalar(1, np.dtype(compute)), scalar(0, np.dtype(compute))
    number = TYPE_NUMBERS[name]
    blas("cublasGemmEx", 0, 1, 5, 5, 5, one, a, number, 5, b, number, 5, zero, c, TYPE_NUMBERS[result], 5,
         COMPUTE[compute], -1)  # fmt: skip
    expected = a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_allclose(c.astype(np.float64), expected, rtol=1e-2 if to.itemsize == 2 else 1e-6)


@pytest.mark.parametrize(("name", "letter", "real"), [("Csscal", "C", np.float32), ("Zdscal", "Z", np.float64)])
def test_complex_vectors_times_real_numbers(blas: Call, name: str, letter: str, real: Any) -> None:
    x = random((7,), TYPES[letter])
    expected = x.copy()
    expected[::2] *= 3
    blas(f"cublas{name}", 4, scalar(3, real), x, 2)
    near(x, expected)


@pytest.mark.parametrize("letter", "SD")
def test_rotations(blas: Call, letter: str) -> None:
    dtype, cosine, sine = TYPES[letter], 0.6, 0.8
    x, y = random((8,), dtype, 1), random((4,), dtype, 2)
    rotated = cosine * x[::2] + sine * y, cosine * y - sine * x[::2]
    blas(f"cublas{letter}rot", 4, x, 2, y, 1, scalar(cosine, dtype), scalar(sine, dtype))
    near(x[::2], rotated[0])
    near(y, rotated[1])


def test_results_in_place_are_recorded_as_those_of_the_library(blas: Call, tmp_path: Path) -> None:
    runtime, memory = ctypes.CDLL(str(cuda_twin.runtime())), []
    for seed in range(5):
        values = random((4, 4), np.float32, seed)
        memory.append(ctypes.c_void_p())
        assert runtime.cudaMalloc(ctypes.byref(memory[-1]), ctypes.c_size_t(values.nbytes)) == 0
        runtime.cudaMemcpy(memory[-1], values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(values.nbytes), 1)
    x, y, a, b, c = memory
    at_a, at_b, at_c = (np.array([one.value], np.uint64) for one in (a, b, c))
    pivots, info = np.zeros(4, np.int32), np.zeros(1, np.int32)
    record, key = tmp_path / "record", tmp_path / "key"
    record.touch()
    key.write_bytes(bytes(16))
    assert twin_function("open_record")(bytes(record), bytes(key))
    twin_function("record")(b"in place", 1 << 20)
    blas("cublasSswap", 16, x, 1, y, 1)
    blas("cublasSgetrfBatched", 4, at_a, 4, pivots, info, 1)
    blas("cublasSgetrsBatched", 0, 4, 4, at_a, 4, pivots, at_b, 4, info, 1)
    blas("cublasSgelsBatched", 0, 4, 4, 4, at_c, 4, at_b, 4, info, None, 1)
    twin_function("record")(None, 0)
    for one in memory:
        runtime.cudaFree(one)
    (call,) = Records.read(record.read_bytes(), bytes(16)).calls
    assert [write.is_by_kernel for write in call.writes] == [True] * 5


def test_what_cannot_be_is_an_invalid_value(blas: Call) -> None:
    one, a = scalar(1, np.float32), random((2, 2), np.float32)
    blas("cublasSgemm", 0, 0, 2, 2, 2, one, a, 1, a, 2, one, a, 2, status=7)
    blas("cublasSgemm", 0, 0, -1, 2, 2, one, a, 2, a, 2, one, a, 2, status=7)


def test_every_function_of_the_header_is_in_the_library(library: ctypes.CDLL) -> None:
    text = (INCLUDE / "cublas_v2.h").read_text()
    named = set(re.findall(r"^cublasStatus_t (cublas\w+)\(", text, re.MULTILINE))
    made = {name.replace("##letter##", letter) for name in re.findall(r"cublasStatus_t (cublas\S*?)\(", text)
            for letter in TYPES if "##letter##" in name}  # fmt: skip
    assert len(made) > 70
    missing = {name for name in named | made if not hasattr(library, name)}
    assert not missing
