"""The exports and needs of a shared library, read without loading it, for messages about libraries that do not load."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from opbridge.base.elf_format import HEADER, SECTION, SEGMENT, SYMBOL, check_identity, damage_explained, machine_name
from opbridge.base.errors import KernelError, did_you_mean
from opbridge.base.safe_open import read_file

_LOADED_SEGMENT = 1
_ALL_SYMBOLS = 2
_DYNAMIC_SYMBOLS = 11
_FUNCTION_KINDS = (2, 10)
"""STT_FUNC, and STT_GNU_IFUNC for functions chosen by the processor at load time."""
_VISIBLE_BINDINGS = (1, 2, 10)
"""STB_GLOBAL, STB_WEAK and STB_GNU_UNIQUE."""
_NAMES_SHOWN = 12
_MISSING_LIBRARY = re.compile(r"(?:^|: )(\S+): cannot open shared object file: No such file")
_NEWER_VERSION = re.compile(r"version `(\w+?)_([\d.]+)' not found")
_UNDEFINED_SYMBOL = re.compile(r"undefined symbol: (\w+)")
_PYTORCH_NAME = re.compile(r"_ZN\w*?(?:2at|3c10|5torch)")

TAKES_BLOCK, DUAL_ABI, OLD_STRINGS = 1, 2, 4
"""The flags of `attribute_block`, which native/aot_kernel.h repeats."""
_BLOCK_CLASSES = ("8AotExtra", "13AotKernelData", "15AotExtraDualABI", "20AotKernelDataDualABI")
_MORE = "what is wrong in full: opbridge doctor "
_BLOCK_FUNCTIONS = ("Init", "InferShape", "InferType")
_OLD_STRING_FUNCTIONS = ("_ZNSs", "_ZNKSs")


@dataclass(frozen=True)
class Symbol:
    """A symbol of a shared library."""

    name: str
    is_function: bool
    is_defined: bool


@dataclass(frozen=True)
class Library:
    """The symbols of one shared library."""

    machine: str
    symbols: tuple[Symbol, ...]
    """The symbols that the loader sees."""
    local_names: tuple[str, ...] = ()
    """The names that only a debugger sees; empty if the library was stripped."""

    @property
    def exported_functions(self) -> tuple[str, ...]:
        """The names of defined functions."""
        return tuple(s.name for s in self.symbols if s.is_defined and s.is_function)

    @property
    def undefined(self) -> tuple[str, ...]:
        """The names of symbols that other libraries must define."""
        return tuple(s.name for s in self.symbols if not s.is_defined)

    @property
    def kernels(self) -> tuple[str, ...]:
        """The functions that describe themselves as kernels; if none does, all that are not mangled C++.

        The functions that accompany a kernel in MindSpore do not count.
        """
        names = {s.name for s in self.symbols if s.is_defined}
        functions = self.exported_functions
        described = tuple(name for name in functions if f"{name}_ob_signature" in names)
        beside = {name + suffix for name in functions for suffix in _BLOCK_FUNCTIONS}
        return described or tuple(name for name in functions if not name.startswith("_") and name not in beside)


def read_library(path: str | Path) -> Library:
    """Read the symbols of a shared library.

    Raises:
        KernelError: The file is missing, damaged, or not a library for this kind of machine.
    """
    data = _read(path)
    with damage_explained(path):
        return _parse(data)


def check_library(path: str | Path) -> None:
    """Check that a library is complete: the loader maps a truncated file, and the first access kills the process.

    Raises:
        KernelError: The file is missing, damaged, truncated, or not a library.
    """
    data = _read(path, HEADER.size)
    with damage_explained(path):
        header = HEADER.unpack_from(data)
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
        data = read_file(path, limit=count)
    except OSError as error:
        raise KernelError(f"cannot read {path}: {error.strerror}") from None
    check_identity(path, data)
    return data


def _segment_end(data: bytes, at: int) -> int:
    kind, _, offset, _, _, size, _, _ = SEGMENT.unpack_from(data, at)
    return offset + size if kind == _LOADED_SEGMENT else 0


def attribute_block(path: str | Path, has_block_functions: bool) -> int:
    """Return, as flags, which MindSpore attribute block a kernel is compiled against; 0 for a bare aot function.

    A kernel with an <F>Init, <F>InferShape or <F>InferType takes a block. Mangled names show the rest: those of the
    block classes, and those of the two kinds of std::string, which are passed to it by value.
    """
    library = read_library(path)
    names = [*(symbol.name for symbol in library.symbols), *library.local_names]
    about_blocks = [name for name in names if any(known in name for known in _BLOCK_CLASSES)]
    if not has_block_functions and not about_blocks:
        return 0
    old = not any("__cxx11" in name for name in about_blocks) and (
        any(name.endswith("Ss") for name in about_blocks)
        or any(name.startswith(_OLD_STRING_FUNCTIONS) for name in library.undefined)
    )
    dual = any("DualABI" in name for name in about_blocks)
    return TAKES_BLOCK | (DUAL_ABI if dual else 0) | (OLD_STRINGS if old else 0)


def exported_functions(path: str | Path) -> tuple[str, ...]:
    """Return the names of the functions that a library exports."""
    return read_library(path).exported_functions


def why_not_loaded(path: str, reason: str) -> str:
    """Return an explanation to append to the loader's message, after a line break; empty if there is none."""
    try:
        library = read_library(path)
    except KernelError as error:
        return f"\n  {error}"
    if library.machine != platform.machine():
        return f"\n  it is built for {library.machine} and this machine is {platform.machine()}; build it here"
    if missing := _MISSING_LIBRARY.search(reason):
        return (
            f"\n  it needs {missing[1]}, which is not where the loader looks; install that, or link with its folder "
            f"as run path: -Wl,-rpath,FOLDER"
        )
    if newer := _NEWER_VERSION.search(reason):
        return (
            f"\n  it was built on a newer system, with {newer[1]} {newer[2]}; this one has glibc "
            f"{platform.libc_ver()[1]}: build it here, or on a system as old as this one"
        )
    if symbol := _UNDEFINED_SYMBOL.search(reason):
        if _PYTORCH_NAME.match(symbol[1]):
            return f"\n  that is PyTorch's: compile it against the PyTorch that is installed here; {_MORE}{path}"
        return f"\n  no library that it was linked with defines it; {_MORE}{path}"
    return ""


def why_no_symbol(path: str, symbol: str) -> str:
    """Return what a library without `symbol` exports instead, after a line break."""
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
    header = HEADER.unpack_from(data)
    machine, section_offset, section_size, section_count = header[2], header[6], header[11], header[12]
    if section_count and section_size != SECTION.size:
        raise ValueError(f"its section headers have {section_size} bytes, expected {SECTION.size}")
    sections = [SECTION.unpack_from(data, section_offset + i * section_size) for i in range(section_count)]
    symbols: list[Symbol] = []
    local_names: list[str] = []
    for _, kind, _, _, offset, size, link, _, _, _ in sections:
        if kind in (_DYNAMIC_SYMBOLS, _ALL_SYMBOLS):
            _, _, _, _, names_offset, names_size, *_ = sections[link]
            found = _symbols(_slice(data, offset, size), _slice(data, names_offset, names_size))
            if kind == _DYNAMIC_SYMBOLS:
                symbols += (symbol for symbol, binding in found if binding in _VISIBLE_BINDINGS)
            else:
                local_names += (symbol.name for symbol, binding in found if binding not in _VISIBLE_BINDINGS)
    return Library(machine_name(machine), tuple(symbols), tuple(local_names))


def _symbols(table: bytes, names: bytes) -> list[tuple[Symbol, int]]:
    """Return every symbol with its binding."""
    result = []
    for name, info, _, section, _, _ in SYMBOL.iter_unpack(table):
        if name:
            text = names[name : names.index(b"\0", name)] if name < len(names) else b""
            result.append((Symbol(text.decode(), info & 15 in _FUNCTION_KINDS, section != 0), info >> 4))
    return result


def _slice(data: bytes, offset: int, size: int) -> bytes:
    if offset + size > len(data):
        raise ValueError(f"a section ends at byte {offset + size}, the file at {len(data)}")
    return data[offset : offset + size]
