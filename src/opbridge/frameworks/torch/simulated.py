"""The C++ of the devices that are simulated for PyTorch: for each of them and version brought, or compiled once."""

from __future__ import annotations

import atexit
import ctypes
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from opbridge.cache import Cache
from opbridge.frameworks.native_modules import LINK_FLAGS, NATIVE, brought, import_extension
from opbridge.toolchains import BuildRequest, begin
from opbridge.toolchains.process import Compilers
from opbridge.toolchains.torch_install import TorchInstall
from opbridge.twins import ascend, cuda

_FOLDER = NATIVE / "simulated"


@dataclass(frozen=True)
class SimulatedDevice:
    """A row of native/simulated/row.h."""

    name: str
    twin: Path
    """The folder of the headers of the twin behind it."""
    defines: tuple[tuple[str, str], ...] = ()

    @property
    def module(self) -> str:
        return f"opbridge_{self.name}"

    def request(self) -> BuildRequest:
        return BuildRequest(
            sources=(_FOLDER / "together.cpp",),
            output=f"{self.module}.so",
            title=f"the simulated {self.name} for PyTorch",
            include_dirs=(_FOLDER / "slim", self.twin),
            defines=self.defines,
            # Several of them, of the same functions, may be in one process.
            flags=("-fvisibility=hidden",),
            link_flags=LINK_FLAGS,
        )

    def load(self, runtime: Callable[[], Path]) -> ModuleType:
        """`runtime` finds the twin's library, which the module, PyTorch's adapter and kernels are to find as one."""
        compilers = Compilers()
        try:
            wait = self._find_or_begin(compilers)
            ctypes.CDLL(str(runtime()), ctypes.RTLD_GLOBAL)
            return import_extension(self.module, wait(), f"the simulated {self.name}")
        except BaseException:
            compilers.stop()
            raise

    def _find_or_begin(self, compilers: Compilers) -> Callable[[], Path]:
        """Where neither it nor the twin's library was built yet, both are compiled at the same time."""
        if library := brought(self.module, "torch", TorchInstall.found().public_version):
            return lambda: library
        wait = begin(self.request(), Cache(), compilers=compilers)
        return lambda: wait().path

    def start(self, library: ModuleType, count: int) -> None:
        library.start(count)
        atexit.register(self._await_gradients, library, os.getpid())

    def _await_gradients(self, library: ModuleType, owner: int) -> None:
        """PyTorch's thread for a device's gradients releases what it held after its caller has gone on.

        Where that is an object of Python's and the interpreter ends meanwhile, PyTorch aborts the process.
        """
        if os.getpid() == owner and _has_threads_for_gradients():
            library.await_gradients()


def _has_threads_for_gradients() -> bool:
    for task in os.listdir("/proc/self/task"):
        with suppress(OSError):  # of a thread that has ended
            if Path(f"/proc/self/task/{task}/comm").read_text().startswith("pt_autograd"):
                return True
    return False


NPU = SimulatedDevice("npu", ascend.INCLUDE)
CUDA = SimulatedDevice("cuda", cuda.INCLUDE, (("OPBRIDGE_SIMULATES_CUDA", "1"),))
