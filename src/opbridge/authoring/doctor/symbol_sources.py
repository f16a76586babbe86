"""The libraries in a process before another is loaded: the interpreter and the imported frameworks."""

from __future__ import annotations

import functools
import importlib.util
import sys
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from opbridge.authoring.doctor.loader import closure
from opbridge.build.sources.elf_image import Image


@dataclass(frozen=True)
class SymbolSource:
    """A package whose libraries define symbols for other libraries."""

    title: str
    package: str
    distribution: str
    folders: tuple[str, ...]
    """The folders of its libraries, relative to the package."""
    prefixes: tuple[str, ...]
    """The prefixes of symbols that only this source defines."""

    @property
    def statement(self) -> str:
        """The statement that imports the package."""
        return f"import {self.package}"

    @property
    def version(self) -> str:
        """The installed version; empty if the package is not installed."""
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return ""

    @cached_property
    def libraries(self) -> tuple[Path, ...]:
        """The libraries of the package; empty if it is not installed."""
        spec = importlib.util.find_spec(self.package)
        homes = spec.submodule_search_locations if spec else None
        patterns = [Path(home, folder) for home in homes or () for folder in self.folders]
        return tuple(sorted(path for folder in patterns for path in folder.glob("*.so*") if path.is_file()))

    @cached_property
    def brings(self) -> dict[str, Path]:
        """All libraries that the import loads, by name: its own and those that they need, such as CUDA wheels."""
        found = {path.name: path for path in self.libraries}
        for image in self.images:
            found |= {other.soname: other.path for other in closure(image, found).needed}
        return found

    @cached_property
    def images(self) -> tuple[Image, ...]:
        """The libraries of the package as mapped files."""
        return tuple(Image(path) for path in self.libraries)

    def owns(self, symbol: str) -> bool:
        """Return whether only this source can define a symbol."""
        return symbol.startswith(self.prefixes)

    def defines(self, symbol: str) -> bool:
        """Return whether a library of the package defines a symbol."""
        return any(image.defines(symbol) for image in self.images)

    def overloads(self, prefix: str) -> list[str]:
        """Return the defined symbols that begin with `prefix`."""
        return [name for image in self.images for name in image.defined_names(prefix)]


def _namespaces(*names: str) -> tuple[str, ...]:
    """Return the mangled prefixes of all names in these namespaces.

    They cover functions, methods, type information, tables and guards.
    """
    spelled = [f"{len(name)}{name}" for name in names]
    kinds = ("_ZN", "_ZNK", "_ZTIN", "_ZTVN", "_ZTSN", "_ZTTN", "_ZGVN", "_ZThn", "_ZTWN")
    return tuple(kind + name for kind in kinds for name in spelled)


SOURCES = (
    SymbolSource(
        *("PyTorch", "torch", "torch", ("lib",)),
        (*_namespaces("at", "c10", "torch", "caffe2"), "aoti_torch_", "THP", "torch_library_"),
    ),
    SymbolSource("MindSpore", "mindspore", "mindspore", ("lib", "."), _namespaces("mindspore")),
    SymbolSource("tvm-ffi", "tvm_ffi", "apache-tvm-ffi", ("lib",), (*_namespaces("tvm"), "TVMFFI")),
)


@functools.cache
def interpreter() -> tuple[Image, ...]:
    """Return the running Python and its libraries, which every extension sees."""
    return closure(Image(Path(sys.executable).resolve())).images
