"""Load extension modules that are compiled against the headers of a framework, here or in advance.

The opbridge wheel includes modules for the frameworks that its build knew; tools/ship_modules.py compiles them from
the same sources. A clone has none, because its sources change.
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

BROUGHT = Path(__file__).parent / "brought"
"""The folder of the modules that the opbridge wheel includes."""

LINK_FLAGS = ("-Wl,-z,undefs",)
"""Symbols of Python and of framework libraries come from the process that imports the module."""


def name_of_brought(module: str, framework: str, version: str) -> str:
    """Return the file name of an included module for this Python."""
    return f"{module}-for-{framework}-{version}{sysconfig.get_config_var('EXT_SUFFIX')}"


def brought(module: str, framework: str, version: str) -> Path | None:
    """Return the included module for a version of a framework and this Python; None if there is none."""
    library = BROUGHT / name_of_brought(module, framework, version)
    return library if library.is_file() else None


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
