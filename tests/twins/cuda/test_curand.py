"""cuRAND of the twin: its numbers are those that NVIDIA's library 10.3.10 gives on a CPU."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opbridge.twins.cuda import toolchain as cuda_twin

XORWOW, MRG, PHILOX, SOBOL = 101, 121, 161, 201
DEFAULT, SEEDED, LEGACY = 101, 102, 103
OK, TYPE_ERROR, NOT_A_MULTIPLE = 0, 103, 105

Array = np.ndarray[Any, np.dtype[Any]]
Generate = Callable[..., Array]


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return ctypes.CDLL(str(cuda_twin.library("curand")))


@pytest.fixture
def generate(library: ctypes.CDLL) -> Generate:
    def made(
        kind: int, function: str, dtype: Any, count: int, *rest: Any, order: int = DEFAULT, offset: int = 0
    ) -> Array:
        handle = ctypes.c_void_p()
        assert library.curandCreateGenerator(ctypes.byref(handle), kind) == OK
        assert library.curandSetPseudoRandomGeneratorSeed(handle, ctypes.c_ulonglong(1234)) == OK
        assert library.curandSetGeneratorOrdering(handle, order) == OK
        assert library.curandSetGeneratorOffset(handle, ctypes.c_ulonglong(offset)) == OK
        out = np.zeros(count, dtype)
        status = getattr(library, function)(handle, out.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(count), *rest)
        library.curandDestroyGenerator(handle)
        assert status == OK
        return out

    return made


@pytest.mark.parametrize(
    ("kind", "order", "first", "stride", "second"),
    [
        (XORWOW, DEFAULT, [624778773, 3522650202, 2363946744, 1266286439, 3928747533], 4096, [1867875844, 3978931785]),
        (MRG, DEFAULT, [3379073520, 653317650, 4012281984, 4237272334, 4243547925], 81920, [2521876100]),
        (MRG, LEGACY, [3379073520, 653317650, 4012281984, 4237272334], 4096, [2521876100, 2890950871]),
        (
            PHILOX,
            DEFAULT,
            [546353992, 3665621163, 1140953199, 3419031310, 3507855656, 1392278645],
            262144,
            [2666454581],
        ),
    ],
)
def test_bits_stand_where_the_guide_says(
    generate: Generate, kind: int, order: int, first: list[int], stride: int, second: list[int]
) -> None:
    assert list(generate(kind, "curandGenerate", np.uint32, len(first), order=order)) == first
    later = generate(kind, "curandGenerate", np.uint32, len(second), order=order, offset=stride)
    assert list(later) == second
    assert list(generate(kind, "curandGenerate", np.uint32, 2, order=order, offset=1)) == first[1:3]


@pytest.mark.parametrize(
    ("kind", "function", "dtype", "expected"),
    [
        (XORWOW, "Uniform", np.float32, ["0x1.29eaf0p-3", "0x1.a3eec0p-1", "0x1.19cdeep-1"]),
        (MRG, "Uniform", np.float32, ["0x1.92d124p-1", "0x1.3786b0p-3", "0x1.de4d22p-1"]),
        (PHILOX, "Uniform", np.float32, ["0x1.04859ap-3", "0x1.b4f9e2p-1", "0x1.100642p-2"]),
        (XORWOW, "UniformDouble", np.float64, ["0x1.bd561cb7abc2bp-2", "0x1.da53518d7605ap-1", "0x1.9faa2cee6f6f8p-1"]),
        (MRG, "UniformDouble", np.float64, ["0x1.92d123e0dcbe5p-1", "0x1.3786b09654f63p-3", "0x1.de4d21007cf80p-1"]),
        (PHILOX, "UniformDouble", np.float64, ["0x1.b4f9e35f0b348p-1", "0x1.97948a5c19070p-1", "0x1.cbe178b76f1acp-4"]),
    ],
)
def test_uniform_numbers(generate: Generate, kind: int, function: str, dtype: Any, expected: list[str]) -> None:
    found = generate(kind, f"curandGenerate{function}", dtype, 3)
    assert list(found) == [float.fromhex(text) for text in expected]


NORMAL = {
    XORWOW: (
        [0.78097355, -1.8015782, -0.28084856, 0.5635466, -1.0113329, 0.4140393],
        [0.3587398, -1.2395925, -0.0914954, -0.38011894],
    ),
    MRG: (
        [-0.3606538, -0.5912813, -1.7185365, -0.901612, 0.34389946, 0.13379334],
        [-0.36065365, -0.5912814, -1.71853606, -0.90161263],
    ),
    PHILOX: (
        [-1.6164905, 1.2291554, -1.5605404, 0.46462137, 0.5684552, -0.28589636],
        [-0.5395267, 0.16063335, 1.00819671, 1.83224925, 0.54305486, 1.39931998, -0.23274466, -1.3420857],
    ),
}


@pytest.mark.parametrize("kind", NORMAL)
def test_normal_numbers(generate: Generate, kind: int) -> None:
    single, double = NORMAL[kind]
    zero, one, two = ctypes.c_float(0), ctypes.c_float(1), ctypes.c_float(2)
    found = generate(kind, "curandGenerateNormal", np.float32, 6, zero, one)
    np.testing.assert_allclose(found, single, rtol=1e-5)
    moved = generate(kind, "curandGenerateNormal", np.float32, 6, one, two)
    np.testing.assert_allclose(moved, 1 + 2 * found, rtol=1e-5)
    logarithms = generate(kind, "curandGenerateLogNormal", np.float32, 6, zero, one)
    np.testing.assert_allclose(logarithms, np.exp(found), rtol=1e-5)
    twice = generate(
        kind, "curandGenerateNormalDouble", np.float64, len(double), ctypes.c_double(0), ctypes.c_double(1)
    )
    np.testing.assert_allclose(twice, double, rtol=1e-6)


def test_a_second_call_goes_on_where_the_first_ended(library: ctypes.CDLL) -> None:
    handle = ctypes.c_void_p()
    assert library.curandCreateGenerator(ctypes.byref(handle), XORWOW) == OK
    assert library.curandSetPseudoRandomGeneratorSeed(handle, ctypes.c_ulonglong(1234)) == OK
    out = np.zeros(3, np.uint32)
    for expected in ([624778773, 3522650202, 2363946744], [1266286439, 3928747533, 3732235839]):
        assert library.curandGenerate(handle, out.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(3)) == OK
        assert list(out) == expected
    pairs = np.zeros(3, np.float32)
    status = library.curandGenerateNormal(
        handle, pairs.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(3), ctypes.c_float(0), ctypes.c_float(1)
    )
    assert status == NOT_A_MULTIPLE
    assert library.curandSetGeneratorOrdering(handle, SEEDED) == TYPE_ERROR
    assert library.curandDestroyGenerator(handle) == OK
    assert library.curandCreateGenerator(ctypes.byref(handle), SOBOL) == TYPE_ERROR
