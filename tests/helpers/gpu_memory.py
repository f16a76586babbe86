"""NumPy's arrays for kernels on a GPU: a call gets copies that it can reach, and what it writes comes back."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

_ATTACH_GLOBAL = 1
_STICKY = range(700, 720)
"""Errors with which a GPU answers all that comes behind."""


@functools.cache
def driver() -> ctypes.CDLL:
    cuda = ctypes.CDLL("libcuda.so.1")
    context, device = ctypes.c_void_p(), ctypes.c_int()
    for error in (
        cuda.cuInit(0),
        cuda.cuDeviceGet(ctypes.byref(device), 0),
        cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device),
        cuda.cuCtxSetCurrent(context),
    ):
        assert error == 0, f"no GPU: the driver gives error {error}"
    return cuda


def call_on_gpu(function: Callable[..., int], *arguments: Any) -> int:
    """What the function gives, or what the GPU does when it has ended."""
    arrays = {place: value for place, value in enumerate(arguments) if isinstance(value, np.ndarray)}
    lent = {place: _lent(array) for place, array in arrays.items()}
    error = function(*(lent.get(place, value) for place, value in enumerate(arguments)))
    ended = driver().cuCtxSynchronize()
    assert ended not in _STICKY, f"the kernel ends with CUDA error {ended}, and so does all that comes behind"
    for place, array in arrays.items():
        ctypes.memmove(array.ctypes.data, lent[place], array.nbytes)
        driver().cuMemFree_v2(lent[place])
    return error or ended


def _lent(array: np.ndarray[Any, Any]) -> ctypes.c_void_p:
    assert array.flags.c_contiguous
    memory = ctypes.c_void_p()
    error = driver().cuMemAllocManaged(ctypes.byref(memory), ctypes.c_size_t(max(array.nbytes, 1)), _ATTACH_GLOBAL)
    assert error == 0, f"no memory for an array: the driver gives error {error}"
    ctypes.memmove(memory, array.ctypes.data, array.nbytes)
    return memory
