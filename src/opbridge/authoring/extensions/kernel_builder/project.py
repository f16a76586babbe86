"""The contents of a build.toml, which describes a kernel-builder project."""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opbridge.base.errors import InputError, Location, ToolchainError
from opbridge.base.names import is_identifier
from opbridge.base.safe_open import read_file
from opbridge.build.cache import KeyBuilder

FILE = "build.toml"
BINDINGS = "torch-ext"
"""The folder of a project's bindings and Python package."""

_VERSION = re.compile(r"\d+\.\d+")
_HEADERS = (".h", ".hpp", ".hh", ".cuh", ".inc", ".inl")


@dataclass(frozen=True)
class Part:
    """Sources with flags of their own, for one backend."""

    name: str
    backend: str
    sources: tuple[Path, ...]
    headers: tuple[Path, ...]
    include_dirs: tuple[Path, ...] = ()
    cxx_flags: tuple[str, ...] = ()
    cuda_flags: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    """The dependencies other than PyTorch."""


@dataclass(frozen=True)
class Project:
    """A kernel-builder project."""

    file: Path
    name: str
    version: int
    license: str | None
    backends: tuple[str, ...]
    python_needs: tuple[str, ...]
    bindings: Part | None
    """The bindings; None for a pure Python project."""
    parts: tuple[Part, ...]
    stable: Mapping[str, str]
    """The backends that use PyTorch's stable ABI, each with the oldest version that provides what it uses."""
    python_suffixes: tuple[str, ...]

    @property
    def module(self) -> str:
        """The name of the Python module."""
        return self.name.replace("-", "_")

    @property
    def package(self) -> Path:
        """The folder of the Python files."""
        return self.file.parent / BINDINGS / self.module

    @property
    def is_compiled(self) -> bool:
        """Whether the project has C++ sources."""
        return self.bindings is not None

    def compiled_parts(self, backend: str) -> tuple[Part, ...]:
        """Return the bindings and the kernels of one backend."""
        kernels = tuple(part for part in self.parts if part.backend == backend)
        return (self.bindings, *kernels) if self.bindings is not None else ()

    def namespace(self, backend: str) -> str:
        """Return the namespace of the operators, which is unique to the state of the sources.

        Several states can therefore be loaded in one process.
        """
        key = KeyBuilder("kernel-builder")
        for part in self.compiled_parts(backend):
            key.add(part.name, *map(_bytes, (*part.sources, *part.headers)))
            key.add("flags", *part.cxx_flags).add("CUDA flags", *part.cuda_flags)
        return f"_{self.module}_{backend}_{key.key()[:12]}"


def load(file: Path) -> Project:
    """Read a build.toml.

    Raises:
        InputError: The file is missing or invalid.
        ToolchainError: Python has no TOML reader.
    """
    document = _parsed(file)
    general = _Table(file, "general", document.get("general", {}))
    torch = _Table(file, "torch", document.get("torch", {}))
    sections = _Table(file, "kernel", document.get("kernel", {}))
    name = general.text("name")
    if not name or not is_identifier(name.replace("-", "_")):
        raise InputError(f"{file}: expected [general] to have the name of the project, got {name!r}")
    parts = tuple(
        _part(_Table(file, f"kernel.{key}", table), f"kernel.{key}") for key, table in sections.values.items()
    )
    backends = general.texts("backends") or tuple(dict.fromkeys(part.backend for part in parts))
    return Project(
        file=file,
        name=name,
        version=general.number("version"),
        license=general.text("license"),
        backends=backends,
        python_needs=general.texts("python-depends"),
        bindings=_part(torch, "torch") if torch.texts("src") else None,
        parts=parts,
        stable=torch.table("stable-abi", of_each=backends).versions(),
        python_suffixes=torch.texts("pyext") or ("py", "pyi"),
    )


def _parsed(file: Path) -> dict[str, object]:
    try:
        toml = importlib.import_module("tomllib")
    except ImportError:
        raise ToolchainError(f"reading {file.name} needs Python 3.11, which has a TOML reader") from None
    try:
        document: dict[str, Any] = toml.loads(_bytes(file).decode())
    except ValueError as error:
        raise InputError(f"{file} is not TOML: {error}") from None
    return document


def _part(table: _Table, name: str) -> Part:
    files = table.files("src")
    return Part(
        name=name,
        backend=table.text("backend") or "cuda",
        sources=tuple(path for path in files if path.suffix not in _HEADERS),
        headers=tuple(path for path in files if path.suffix in _HEADERS),
        include_dirs=table.files("include"),
        cxx_flags=_flags(table.texts("cxx-flags")),
        cuda_flags=_flags(table.texts("cuda-flags")),
        needs=tuple(need for need in table.texts("depends") if need != "torch"),
    )


def _flags(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(flag for text in texts for flag in shlex.split(text))


def _bytes(path: Path) -> bytes:
    try:
        return read_file(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None


class _Table:
    """A table of the file; errors name the table and the key."""

    def __init__(self, file: Path, name: str, values: object) -> None:
        if not isinstance(values, dict):
            raise InputError(f"{file}: expected [{name}] to be a table, got {values!r:.80}")
        self.values: dict[str, Any] = values
        self._file = file
        self._name = name

    def text(self, key: str) -> str | None:
        value = self._value(key)
        return value if value is None or isinstance(value, str) else self._refuse(key, "a text", value)

    def number(self, key: str) -> int:
        value = self._value(key)
        return 0 if value is None else value if isinstance(value, int) else self._refuse(key, "a number", value)

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._value(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            self._refuse(key, "a list of texts", value)
        return tuple(value)

    def files(self, key: str) -> tuple[Path, ...]:
        return tuple(self._file.parent / text for text in self.texts(key))

    def table(self, key: str, of_each: Iterable[str]) -> _Table:
        """Return a table that may also be one text, which then applies to each of the given keys."""
        value = self.values.get(key, {})
        values = dict.fromkeys(of_each, value) if isinstance(value, str) else value
        return _Table(self._file, f"{self._name}.{key}", values)

    def versions(self) -> Mapping[str, str]:
        for key, value in self.values.items():
            if not isinstance(value, str) or not _VERSION.fullmatch(value):
                self._refuse(key, 'a version as in "2.10"', value)
        return self.values

    def _value(self, key: str) -> Any:
        """Return a value; older files write `_` for `-` in keys."""
        return self.values.get(key, self.values.get(key.replace("-", "_")))

    def _refuse(self, key: str, expected: str, value: object) -> Any:
        raise InputError(f"[{self._name}] {key}: expected {expected}, got {value!r:.80}", self._place(key))

    def _place(self, key: str) -> Location | None:
        lines = enumerate(_bytes(self._file).decode().splitlines(), 1)
        named = (
            Location(str(self._file), number, 1, line) for number, line in lines if line.split("=")[0].strip() == key
        )
        return next(named, None)
