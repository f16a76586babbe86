"""Libraries of kernels, built by the Ascend C twin."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opbridge.build.toolchains import BuildRequest, build

KERNELS = Path(__file__).parent / "kernels"


class Kernels:
    """The functions of a library; arrays go in as pointers, and whatever the checks report as an exception."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        self._library.ob_ascend_attach_host()
        self._library.ob_ascend_take_reports.restype = ctypes.c_char_p

    def call(self, name: str, *arguments: Any) -> None:
        pointers = (a.ctypes.data_as(ctypes.c_void_p) if isinstance(a, np.ndarray) else a for a in arguments)
        getattr(self._library, name)(*pointers)
        reports = self._library.ob_ascend_take_reports()
        assert reports is None, reports.decode()

    def run(self, kernel: str, *arguments: Any, blocks: int = 1) -> None:
        self.call(f"aclrtlaunch_{kernel}", blocks, None, *arguments)


@pytest.fixture(scope="session")
def twin() -> Callable[..., Kernels]:
    """Builds sources of the folder kernels."""

    def made(*sources: str) -> Kernels:
        files = tuple(KERNELS / source for source in sources)
        return Kernels(build(BuildRequest(files, f"{files[0].stem}.so", language="ascend-twin")).path)

    return made


@pytest.fixture(scope="session")
def functions(twin: Callable[..., Kernels]) -> Kernels:
    """The high-level functions: 8 s at first."""
    return twin("functions.cpp")
