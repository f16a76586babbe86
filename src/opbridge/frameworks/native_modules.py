"""Load extension modules that are compiled against the headers of a framework, here or in advance.

`build.toolchains.prebuilt` finds those that the opbridge wheel includes for the frameworks that its build knew.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sysconfig
from pathlib import Path
from types import ModuleType

from opbridge.base.errors import ToolchainError

NATIVE = Path(__file__).parents[1] / "native"
"""The folder of the opbridge C++ sources."""

LINK_FLAGS = ("-Wl,-z,undefs",)
"""Symbols of Python and of framework libraries come from the process that imports the module."""


def python_headers(purpose: str) -> Path:
    """Return the folder of the Python C headers; raise ToolchainError if it has none."""
    folder = Path(sysconfig.get_path("include"))
    if not (folder / "Python.h").is_file():
        raise ToolchainError(
            f"expected Python's C headers in {folder} to build {purpose}; "
            "`apt-get install python3-dev` installs them on Debian and Ubuntu"
        )
    return folder


def import_extension(name: str, library: Path, purpose: str) -> ModuleType:
    """Import an extension module; raise ToolchainError if it does not load."""
    try:
        return module_from(name, library)
    except ImportError as error:
        raise ToolchainError(f"{purpose} does not load: {error}\n  run `opbridge cache clear`") from error


def module_from(name: str, library: Path) -> ModuleType:
    """Import the module in a library, whatever the name of its file.

    The spec gets a unique name: pybind11 treats two modules whose specs share a name as one, and skips the second.
    """
    name_of_its_own = f"{library.parent.name}.{name}"
    loader = importlib.machinery.ExtensionFileLoader(name_of_its_own, str(library))
    spec = importlib.util.spec_from_file_location(name_of_its_own, library, loader=loader)
    if spec is None:
        raise ToolchainError(f"{library} cannot be imported; run `opbridge cache clear`")
    module = importlib.util.module_from_spec(spec)
    # Set the name before the module runs, because its classes use it.
    module.__name__, module.__package__ = name, ""
    loader.exec_module(module)
    return module
