"""Load the C++ module of each device that is simulated for PyTorch: included in the wheel, or compiled once."""

from __future__ import annotations

import atexit
import ctypes
import os
import pkgutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from opbridge.build.cache import Cache
from opbridge.build.toolchains import BuildRequest, begin
from opbridge.build.toolchains.compiler_processes import Compilers
from opbridge.build.toolchains.torch_install import TorchInstall
from opbridge.frameworks.native_modules import LINK_FLAGS, import_extension

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class SimulatedDevice:
    """A row of twins/common/torch_device/row.h."""

    name: str
    twin: Path
    """The folder of the headers of its twin."""
    defines: tuple[tuple[str, str], ...] = ()
    extension_builds: str | None = None
    """The function that makes builds of PyTorch extensions compile for the device, as `module:function`.

    It is imported when the device starts.
    """

    @property
    def module(self) -> str:
        """The name of the extension module."""
        return f"opbridge_{self.name}"

    def request(self) -> BuildRequest:
        """Return the build of the module."""
        return BuildRequest(
            sources=(_FOLDER / "together.cpp",),
            output=f"{self.module}.so",
            title=f"the simulated {self.name} for PyTorch",
            include_dirs=(_FOLDER / "slim", self.twin),
            defines=self.defines,
            # Several modules with the same functions may be in one process.
            flags=("-fvisibility=hidden",),
            link_flags=LINK_FLAGS,
            built_for=TorchInstall.found().built_for,
        )

    def load(self, runtime: Callable[[], Path]) -> ModuleType:
        """Load the module.

        `runtime` finds the library of the twin; the module, the PyTorch adapter and the kernels must share one copy
        of it.
        """
        compilers = Compilers()
        try:
            # Compile it, if needed, in parallel with the library of the twin.
            wait = begin(self.request(), Cache(), compilers=compilers)
            ctypes.CDLL(str(runtime()), ctypes.RTLD_GLOBAL)
            return import_extension(self.module, wait().path, f"the simulated {self.name}")
        except BaseException:
            compilers.stop()
            raise

    def start(self, library: ModuleType, count: int) -> None:
        """Start a number of simulated devices, and wait for their gradients when the process exits."""
        library.start(count)
        if self.extension_builds:
            pkgutil.resolve_name(self.extension_builds)()
        atexit.register(self._await_gradients, library, os.getpid())

    def _await_gradients(self, library: ModuleType, owner: int) -> None:
        """Wait until the gradient thread of the device has released its objects.

        The thread releases them after its caller has continued. If one is a Python object and the interpreter exits
        meanwhile, PyTorch aborts the process.
        """
        if os.getpid() == owner and _has_threads_for_gradients():
            library.await_gradients()


def _has_threads_for_gradients() -> bool:
    for task in os.listdir("/proc/self/task"):
        with suppress(OSError):  # the thread may have ended
            if Path(f"/proc/self/task/{task}/comm").read_text().startswith("pt_autograd"):
                return True
    return False
