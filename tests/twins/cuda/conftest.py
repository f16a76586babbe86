"""Libraries of kernels, built by the CUDA twin.

Or by nvcc, where OPBRIDGE_TESTS_ON_GPU is set: what the tests expect of kernels is what a GPU does.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gpu_memory import call_on_gpu

from opbridge.build.toolchains import BuildRequest, build

KERNELS = Path(__file__).parent / "kernels"
CHECKS = (("OPBRIDGE_TWIN_CHECKS", "1"),)
ON_GPU = bool(os.environ.get("OPBRIDGE_TESTS_ON_GPU"))
twin_only = pytest.mark.skipif(ON_GPU, reason="of the twin's own: what it refuses, its sizes, its stacks")
# Some kernels launch others.
LANGUAGE, FLAGS = ("cuda", ("-rdc=true", "-lcudadevrt", "-DON_GPU")) if ON_GPU else ("cuda-twin", ())

Array = np.ndarray[Any, np.dtype[Any]]


class Kernels:
    """The functions of a library; arrays go in as pointers, and a CUDA error comes out as an exception."""

    def __init__(self, path: Path) -> None:
        self.library = ctypes.CDLL(str(path))
        self.reports = ""
        """Of the last call that failed."""
        if not ON_GPU:
            self.library.ob_twin_attach_host()
            self.library.ob_twin_take_reports.restype = ctypes.c_char_p

    def call(self, name: str, *arguments: Any) -> int:
        """The CUDA error."""
        function = getattr(self.library, name)
        if ON_GPU:
            return call_on_gpu(function, *arguments)
        error: int = function(
            *(a.ctypes.data_as(ctypes.c_void_p) if isinstance(a, np.ndarray) else a for a in arguments)
        )
        if error:
            # The device would answer with it from now on, and the next host would get its reports.
            self.library.ob_twin_clear_errors()
            self.reports = (self.library.ob_twin_take_reports() or b"").decode()
        return error

    def run(self, name: str, *arguments: Any) -> None:
        error = self.call(name, *arguments)
        assert error == 0, f"{name} gives CUDA error {error}"


@pytest.fixture(scope="session")
def twin() -> Callable[..., Kernels]:
    """Builds sources of the folder kernels, with or without checks."""

    def made(*sources: str, checks: bool = False) -> Kernels:
        if checks and ON_GPU:
            pytest.skip("a GPU checks nothing")
        files = tuple(KERNELS / source for source in sources)
        defines = CHECKS if checks else ()
        request = BuildRequest(files, f"{files[0].stem}.so", language=LANGUAGE, defines=defines, flags=FLAGS)
        return Kernels(build(request).path)

    return made


class DeviceArrays:
    """NumPy arrays in memory that kernels may use."""

    def __init__(self, kernels: Kernels) -> None:
        self._kernels = kernels
        self._made: list[ctypes.c_void_p] = []

    def __call__(self, values: Array) -> Array:
        if ON_GPU:
            return values.copy()
        address = ctypes.c_void_p()
        self._kernels.run("allocate", ctypes.byref(address), ctypes.c_size_t(max(1, values.nbytes)))
        self._made.append(address)
        assert address.value
        memory = (ctypes.c_byte * values.nbytes).from_address(address.value)
        array = np.frombuffer(memory, values.dtype).reshape(values.shape)
        array[...] = values
        return array

    def free(self) -> None:
        for address in self._made:
            self._kernels.run("release", address)


@pytest.fixture
def on_device() -> Any:
    """Makes the arrays of one test, and frees them behind it."""
    made: list[DeviceArrays] = []

    def maker(kernels: Kernels) -> DeviceArrays:
        made.append(DeviceArrays(kernels))
        return made[-1]

    yield maker
    for arrays in made:
        arrays.free()
