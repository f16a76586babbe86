"""The simulated devices' C++: compiled once for each version of PyTorch, and kept in the cache."""

from __future__ import annotations

import ctypes
from functools import cache
from threading import Lock
from types import ModuleType

from opbridge.frameworks.native_modules import LINK_FLAGS, NATIVE, import_extension
from opbridge.progress import announce
from opbridge.toolchains import BuildRequest, build
from opbridge.toolchains.ascend_twin import runtime
from opbridge.twins import ascend

NAME = "opbridge_npu"


def request() -> BuildRequest:
    """The devices are those of the Ascend C twin, whose library is loaded before this one."""
    return BuildRequest(
        # The lists of autocast take as long as all the rest, at the same time.
        sources=(NATIVE / "npu" / "autocast.cpp", NATIVE / "npu" / "together.cpp"),
        output=f"{NAME}.so",
        include_dirs=(ascend.INCLUDE,),
        link_flags=LINK_FLAGS,
    )


@cache
def load() -> ModuleType:
    # Everybody's: the module, PyTorch's adapter and kernels find one and the same.
    ctypes.CDLL(str(runtime()), ctypes.RTLD_GLOBAL)
    library = build(request(), on_progress=_Announcement()).path
    return import_extension(NAME, library, "the simulated npu")


class _Announcement:
    """One line, before the first of several compilers runs."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._done = False

    def __call__(self, step: str) -> None:
        with self._lock:
            if not self._done:
                announce("compiling the simulated npu, once", 40)
            self._done = True
