"""Reads what a shared library exports and needs, without loading it: for messages about libraries that do not load.

Only 64-bit little-endian ELF, which is every platform opbridge runs on; a damaged file gives a KernelError.
"""

from __future__ import annotations

import os
import platform
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from opbridge.errors import KernelError, did_you_mean

_MACHINES = {3: "i386", 40: "arm", 62: "x86_64", 183: "aarch64", 190: "cuda", 243: "riscv64", 258: "loongarch64"}
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_LOADED_SEGMENT = 1
_DYNAMIC_SYMBOLS = 11
_FUNCTION_KINDS = (2, 10)
"""STT_FUNC, and STT_GNU_IFUNC for functions chosen by the processor at load time."""
_VISIBLE_BINDINGS = (1, 2, 10)
"""STB_GLOBAL, STB_WEAK and STB_GNU_UNIQUE."""
_NAMES_SHOWN = 12


@dataclass(frozen=True)
class Symbol:
    name: str
    is_function: bool
    is_defined: bool


@dataclass(frozen=True)
class Library:
    """The dynamic symbols of one shared library."""

    machine: str
    symbols: tuple[Symbol, ...]

    @property
    def exported_functions(self) -> tuple[str, ...]:
        return tuple(s.name for s in self.symbols if s.is_defined and s.is_function)

    @property
    def undefined(self) -> tuple[str, ...]:
        return tuple(s.name for s in self.symbols if not s.is_defined)

    @property
    def kernels(self) -> tuple[str, ...]:
        """The functions that describe themselves as kernels; where none does, all that are not mangled C++."""
        names = {s.name for s in self.symbols if s.is_defined}
        functions = self.exported_functions
        described = tuple(name for name in functions if f"{name}_ob_signature" in names)
        return described or tuple(name for name in functions if not name.startswith("_"))


def read_library(path: str | Path) -> Library:
    data = _read(path)
    with _damage_explained(path):
        return _parse(data)


def check_library(path: str | Path) -> None:
    """Refuses what the loader would not: it maps a file that was cut short, and the process dies of the first look."""
    data = _read(path, _HEADER.size)
    with _damage_explained(path):
        header = _HEADER.unpack_from(data)
        offset, size, count = header[5], header[9], header[10]
        if not count:
            raise ValueError("it is an object file, not linked with -shared")
        end, actual = offset + size * count, os.path.getsize(path)
        if end <= actual:
            table = _read(path, end)
            end = max(end, *(_segment_end(table, offset + size * i) for i in range(count)))
    if end > actual:
        raise KernelError(f"{path} was cut short: it has {actual} bytes of {end}; copy or build it again")


def _read(path: str | Path, count: int = -1) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(count)
    except OSError as error:
        raise KernelError(f"cannot read {path}: {error.strerror}") from None
    if not data:
        raise KernelError(f"{path} is empty; expected a shared library")
    if data[:4] != b"\x7fELF":
        raise KernelError(f"{path} is not a shared library: expected an ELF file, it begins with {data[:8]!r}")
    if data[4:6] != b"\x02\x01":
        raise KernelError(f"{path} is not for a 64-bit little-endian machine, and opbridge runs on no other")
    return data


@contextmanager
def _damage_explained(path: str | Path) -> Iterator[None]:
    try:
        yield
    except (struct.error, IndexError, OverflowError):
        raise KernelError(f"{path} is damaged: it ends in the middle of a table; build it again") from None
    except ValueError as error:
        raise KernelError(f"{path} cannot be used: {error}; build it again") from None


def _segment_end(data: bytes, at: int) -> int:
    kind, _, offset, _, _, size, _, _ = _SEGMENT.unpack_from(data, at)
    return offset + size if kind == _LOADED_SEGMENT else 0


def exported_functions(path: str | Path) -> tuple[str, ...]:
    return read_library(path).exported_functions


def why_not_loaded(path: str, symbol: str) -> str:
    """What to add to the loader's own words, after a line break; empty where they say it all."""
    try:
        library = read_library(path)
    except KernelError as error:
        return f"\n  {error}"
    if library.machine != platform.machine():
        return f"\n  it is built for {library.machine} and this machine is {platform.machine()}; build it here"
    return ""


def why_no_symbol(path: str, symbol: str) -> str:
    """What a library without `symbol` has instead, after a line break."""
    try:
        kernels = read_library(path).kernels
    except KernelError as error:
        return f"\n  {error}"
    if not kernels:
        return '\n  it exports no function; mark the kernel with OB_KERNEL or extern "C"'
    shown = ", ".join(kernels[:_NAMES_SHOWN])
    more = f" and {len(kernels) - _NAMES_SHOWN} more" if len(kernels) > _NAMES_SHOWN else ""
    return f"\n  it exports {shown}{more}; {did_you_mean(symbol, kernels)}".rstrip("; ")


def _parse(data: bytes) -> Library:
    header = _HEADER.unpack_from(data)
    machine, section_offset, section_size, section_count = header[2], header[6], header[11], header[12]
    machine_name = _MACHINES.get(machine, f"machine {machine}")
    if section_count and section_size != _SECTION.size:
        raise ValueError(f"its section headers have {section_size} bytes, expected {_SECTION.size}")
    sections = [_SECTION.unpack_from(data, section_offset + i * section_size) for i in range(section_count)]
    symbols: list[Symbol] = []
    for _, kind, _, _, offset, size, link, _, _, _ in sections:
        if kind == _DYNAMIC_SYMBOLS:
            _, _, _, _, names_offset, names_size, *_ = sections[link]
            symbols += _symbols(_slice(data, offset, size), _slice(data, names_offset, names_size))
    return Library(machine_name, tuple(symbols))


def _symbols(table: bytes, names: bytes) -> list[Symbol]:
    result = []
    for name, info, _, section, _, _ in _SYMBOL.iter_unpack(table):
        if name and info >> 4 in _VISIBLE_BINDINGS:
            text = names[name : names.index(b"\0", name)] if name < len(names) else b""
            result.append(Symbol(text.decode(), info & 15 in _FUNCTION_KINDS, section != 0))
    return result


def _slice(data: bytes, offset: int, size: int) -> bytes:
    if offset + size > len(data):
        raise ValueError(f"a section ends at byte {offset + size}, the file at {len(data)}")
    return data[offset : offset + size]
