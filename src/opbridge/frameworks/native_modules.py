"""Extension modules of ours that are compiled against a framework's own headers: on the user's machine, or ready-made.

opbridge's own wheel brings those for the frameworks that its build was shown, made by tools/ship_modules.py of the very
sources beside them; a clone, whose sources change, has none.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sysconfig
from pathlib import Path
from types import ModuleType

from opbridge.errors import ToolchainError

NATIVE = Path(__file__).parents[1] / "native"
"""The folder of opbridge's own C++."""

BROUGHT = Path(__file__).parent / "brought"
"""The folder of those that came in opbridge's wheel."""

LINK_FLAGS = ("-Wl,-z,undefs",)
"""Python's symbols, and those of the framework's libraries, come from the process that imports the module."""


def name_of_brought(module: str, framework: str, version: str) -> str:
    """What the file of one is called that fits the Python at hand."""
    return f"{module}-for-{framework}-{version}{sysconfig.get_config_var('EXT_SUFFIX')}"


def brought(module: str, framework: str, version: str) -> Path | None:
    """The one that came for this version of a framework and this Python."""
    library = BROUGHT / name_of_brought(module, framework, version)
    return library if library.is_file() else None


def python_headers(purpose: str) -> Path:
    folder = Path(sysconfig.get_path("include"))
    if not (folder / "Python.h").is_file():
        raise ToolchainError(
            f"expected Python's C headers in {folder} to build {purpose}; "
            "`apt-get install python3-dev` brings them on Debian and Ubuntu"
        )
    return folder


def import_extension(name: str, library: Path, purpose: str) -> ModuleType:
    try:
        return module_from(name, library)
    except ImportError as error:
        raise ToolchainError(f"{purpose} does not load: {error}\n  run `opbridge cache clear`") from error


def module_from(name: str, library: Path) -> ModuleType:
    """The module that a library is, by whatever name its file has.

    pybind11 takes two modules whose specifications have one name for one module, and runs nothing of the second.
    """
    name_of_its_own = f"{library.parent.name}.{name}"
    loader = importlib.machinery.ExtensionFileLoader(name_of_its_own, str(library))
    spec = importlib.util.spec_from_file_location(name_of_its_own, library, loader=loader)
    if spec is None:
        raise ToolchainError(f"{library} cannot be imported; run `opbridge cache clear`")
    module = importlib.util.module_from_spec(spec)
    # Before it runs, for its classes are named by it.
    module.__name__, module.__package__ = name, ""
    loader.exec_module(module)
    return module
