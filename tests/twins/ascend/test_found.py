"""Kernels as public ones are written compile as they stand, and compute right.  Builds one library."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest


class Tiling(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint32), ("factor", ctypes.c_float))


@pytest.fixture(scope="module")
def found(twin: Callable[..., Any]) -> Any:
    return twin("found.cpp")


def test_a_class_over_a_tiling_struct(found: Any) -> None:
    x = np.arange(64, dtype=np.float32)
    y = np.zeros_like(x)
    found.run("hypot", x, y, 1, ctypes.byref(Tiling(64, 0.5)))
    np.testing.assert_array_equal(y, x / 2)


@pytest.mark.parametrize(("function", "dtype"), [("first_of_floats", np.float32), ("first_of_numbers", np.int32)])
def test_kernels_that_macros_define_and_launch(found: Any, function: str, dtype: type) -> None:
    x, y = np.array([3, 7], dtype), np.zeros(1, dtype)
    found.call(function, x, y)
    assert y[0] == 7
    z = np.zeros(1, dtype)
    found.run(f"first_of_{'float' if dtype is np.float32 else 'int32_t'}", x, z)  # by ACLRT_LAUNCH_KERNEL
    assert z[0] == 7


def test_a_host_asks_how_many_cores_there_are(found: Any) -> None:
    assert found._library.vector_cores() == 48
