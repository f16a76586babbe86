"""What is in a process before a library is loaded into it: the interpreter, and the frameworks it has imported."""

from __future__ import annotations

import functools
import importlib.util
import sys
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from opbridge.doctor.loader import closure
from opbridge.sources.elf_image import Image


@dataclass(frozen=True)
class SymbolSource:
    """A package whose libraries others leave symbols to."""

    title: str
    package: str
    distribution: str
    folders: tuple[str, ...]
    """Where its libraries are, from the folder of its package."""
    prefixes: tuple[str, ...]
    """How the symbols begin that nobody but this source has."""

    @property
    def statement(self) -> str:
        return f"import {self.package}"

    @property
    def version(self) -> str:
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return ""

    @cached_property
    def libraries(self) -> tuple[Path, ...]:
        """Empty where the package is not installed."""
        spec = importlib.util.find_spec(self.package)
        homes = spec.submodule_search_locations if spec else None
        patterns = [Path(home, folder) for home in homes or () for folder in self.folders]
        return tuple(sorted(path for folder in patterns for path in folder.glob("*.so*") if path.is_file()))

    @cached_property
    def brings(self) -> dict[str, Path]:
        """All that importing it loads, by name: its libraries and those that they find, such as CUDA's wheels."""
        found = {path.name: path for path in self.libraries}
        for image in self.images:
            found |= {other.soname: other.path for other in closure(image, found).needed}
        return found

    @cached_property
    def images(self) -> tuple[Image, ...]:
        return tuple(Image(path) for path in self.libraries)

    def owns(self, symbol: str) -> bool:
        return symbol.startswith(self.prefixes)

    def defines(self, symbol: str) -> bool:
        return any(image.defines(symbol) for image in self.images)

    def overloads(self, prefix: str) -> list[str]:
        return [name for image in self.images for name in image.defined_names(prefix)]


def _namespaces(*names: str) -> tuple[str, ...]:
    """How mangled names begin of what is in these namespaces: functions, methods, type information, tables, guards."""
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
    """The running Python and what it is linked with, which every extension sees."""
    return closure(Image(Path(sys.executable).resolve())).images
