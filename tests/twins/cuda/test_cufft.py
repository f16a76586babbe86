"""cuFFT of the twin against NumPy's transforms, called as C."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from opbridge.twins.cuda import toolchain as cuda_twin

C2C, R2C, C2R, Z2Z, D2Z, Z2D = 0x29, 0x2A, 0x2C, 0x69, 0x6A, 0x6C
FORWARD, INVERSE = -1, 1
OK, INVALID_PLAN, INVALID_SIZE, NOT_SUPPORTED = 0, 1, 8, 16

Array = np.ndarray[Any, np.dtype[Any]]


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return ctypes.CDLL(str(cuda_twin.library("cufft")))


def pointer(array: Array) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


def planned(library: ctypes.CDLL, function: str, *arguments: Any) -> int:
    plan = ctypes.c_int()
    assert getattr(library, function)(ctypes.byref(plan), *arguments) == OK
    return plan.value


def signal(shape: tuple[int, ...], dtype: Any) -> Array:
    draw = np.random.default_rng(sum(shape))
    values = draw.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        values = values + 1j * draw.standard_normal(shape)
    return values.astype(dtype)


def near(found: Array, expected: Array) -> None:
    tolerance = 1e-11 if found.dtype in (np.float64, np.complex128) else 2e-5
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1, np.abs(expected).max()))


# Powers, products of small primes, a prime below the largest factor that is taken directly, and primes above it.
@pytest.mark.parametrize("n", [1, 2, 8, 12, 61, 67, 134, 360, 1009])
def test_lines_of_every_size(library: ctypes.CDLL, n: int) -> None:
    values = signal((3, n), np.complex128)
    plan = planned(library, "cufftPlan1d", n, Z2Z, 3)
    found = np.zeros_like(values)
    assert library.cufftExecZ2Z(plan, pointer(values), pointer(found), FORWARD) == OK
    near(found, np.fft.fft(values))
    assert library.cufftExecZ2Z(plan, pointer(found), pointer(found), INVERSE) == OK
    near(found / n, values)
    assert library.cufftDestroy(plan) == OK
    assert library.cufftDestroy(plan) == INVALID_PLAN


@pytest.mark.parametrize("shape", [(6, 5), (4, 3, 10)])
@pytest.mark.parametrize("is_double", [False, True])
def test_real_signals_of_more_dimensions(library: ctypes.CDLL, shape: tuple[int, ...], is_double: bool) -> None:
    real, whole = (np.float64, np.complex128) if is_double else (np.float32, np.complex64)
    there, back = (D2Z, Z2D) if is_double else (R2C, C2R)
    names = ("cufftExecD2Z", "cufftExecZ2D") if is_double else ("cufftExecR2C", "cufftExecC2R")
    values = signal(shape, real)
    expected = np.fft.rfftn(values)
    found = np.zeros(expected.shape, whole)
    make = f"cufftPlan{len(shape)}d"
    assert getattr(library, names[0])(planned(library, make, *shape, there), pointer(values), pointer(found)) == OK
    near(found, expected.astype(whole))
    again = np.zeros(shape, real)
    assert getattr(library, names[1])(planned(library, make, *shape, back), pointer(found), pointer(again)) == OK
    near(again / values.size, values)


def test_in_place_real_numbers_leave_room_for_complex_ones(library: ctypes.CDLL) -> None:
    values = signal((4, 6), np.float64)
    room = np.zeros((4, 8))
    room[:, :6] = values
    assert library.cufftExecD2Z(planned(library, "cufftPlan2d", 4, 6, D2Z), pointer(room), pointer(room)) == OK
    near(room.view(np.complex128), np.fft.rfftn(values))


def test_elements_may_lie_apart(library: ctypes.CDLL) -> None:
    # The columns of a matrix, each a signal of its own.
    values = signal((8, 5), np.complex64)
    size, none = (ctypes.c_int * 1)(8), (ctypes.c_int * 1)(8)
    plan = planned(library, "cufftPlanMany", 1, size, none, 5, 1, none, 5, 1, C2C, 5)
    found = np.zeros_like(values)
    assert library.cufftExecC2C(plan, pointer(values), pointer(found), FORWARD) == OK
    near(found, np.fft.fft(values, axis=0).astype(np.complex64))


def test_sizes_of_64_bits_and_types_of_each_side(library: ctypes.CDLL) -> None:
    complex_floats, floats, halves = 4, 0, 2
    size, apart = (ctypes.c_longlong * 1)(8), [ctypes.c_longlong(1), ctypes.c_longlong(8)]

    def make(plan: int, source: int, target: int, computed: int) -> int:
        layouts = [None, *apart, source, None, *apart, target]
        made: int = library.cufftXtMakePlanMany(plan, 1, size, *layouts, ctypes.c_longlong(3), None, computed)
        return made

    plan = ctypes.c_int()
    assert library.cufftCreate(ctypes.byref(plan)) == OK
    assert make(plan.value, complex_floats, complex_floats, complex_floats) == OK
    values = signal((3, 8), np.complex64)
    found = np.zeros_like(values)
    assert library.cufftExecC2C(plan, pointer(values), pointer(found), FORWARD) == OK
    near(found, np.fft.fft(values).astype(np.complex64))
    assert make(plan.value, halves, complex_floats, complex_floats) == NOT_SUPPORTED
    size[0] = 2**40
    assert make(plan.value, floats, complex_floats, complex_floats) == INVALID_SIZE


def test_what_is_no_plan(library: ctypes.CDLL) -> None:
    plan = ctypes.c_int()
    assert library.cufftPlan1d(ctypes.byref(plan), 0, C2C, 1) == INVALID_SIZE
    values = np.zeros(4, np.complex64)
    wrong = planned(library, "cufftPlan1d", 4, R2C, 1)
    assert library.cufftExecC2C(wrong, pointer(values), pointer(values), FORWARD) == INVALID_PLAN
