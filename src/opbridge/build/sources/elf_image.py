"""The tables of a shared library that the dynamic loader reads: its needs, definitions and versions.

The file is mapped, not read: framework libraries have hundreds of megabytes, and only a few of them are examined.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from opbridge.base.elf_format import HEADER, SECTION, SEGMENT, SYMBOL, check_identity, damage_explained, machine_name
from opbridge.base.errors import KernelError
from opbridge.base.safe_open import open_file

OBJECT, EXECUTABLE, SHARED = 1, 2, 3
"""The kinds of file."""

_INTERPRETER = 3
_LOADED = 1
_SECTION_DYNAMIC, _SECTION_NOTE, _SECTION_SYMBOLS, _SECTION_ALL_SYMBOLS, _SECTION_RELOCATIONS = 6, 7, 11, 2, 4
_SECTION_HASH, _SECTION_DEFINED_VERSIONS, _SECTION_NEEDED_VERSIONS = 0x6FFFFFF6, 0x6FFFFFFD, 0x6FFFFFFE
_NEEDED, _SONAME, _RPATH, _RUNPATH = 1, 14, 15, 29
_PAIR = struct.Struct("<QQ")
_RELOCATION = struct.Struct("<QQq")
_NEED = struct.Struct("<HHIII")
_NEED_VERSION = struct.Struct("<IHHII")
_DEFINITION = struct.Struct("<HHHHIII")
_NOTE = struct.Struct("<III")
_PROPERTIES_NOTE = 5
_ISA_NEEDED = 0xC0008002
_WEAK, _FUNCTION_KINDS = 2, (2, 10)


@dataclass(frozen=True)
class ImageSymbol:
    """A symbol of a mapped library."""

    name: str
    is_function: bool
    is_defined: bool
    is_weak: bool
    address: int


@dataclass(frozen=True)
class _Section:
    kind: int
    offset: int
    size: int
    link: int


class Image:
    """A mapped ELF file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with open(open_file(path), "rb") as file:
                check_identity(path, file.read(HEADER.size))
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise KernelError(f"cannot read {path}: {error.strerror}") from None
        with damage_explained(path):
            header = HEADER.unpack_from(self._data)
            self.kind: int = header[1]
            self.machine = machine_name(header[2])
            segments, sections = (header[5], header[9], header[10]), (header[6], header[11], header[12])
            self._segments = [
                SEGMENT.unpack_from(self._data, segments[0] + i * segments[1]) for i in range(segments[2])
            ]
            self._sections = [
                _Section(entry[1], entry[4], entry[5], entry[6])
                for entry in (
                    SECTION.unpack_from(self._data, sections[0] + i * sections[1]) for i in range(sections[2])
                )
            ]

    @property
    def is_program(self) -> bool:
        """Whether the file is a program instead of a library."""
        return self.kind == EXECUTABLE or any(segment[0] == _INTERPRETER for segment in self._segments)

    @cached_property
    def needed(self) -> tuple[str, ...]:
        """The names of the libraries that this one needs."""
        return self._dynamic_texts(_NEEDED)

    @cached_property
    def soname(self) -> str:
        """The name under which others need this library; by default, its file name."""
        return next(iter(self._dynamic_texts(_SONAME)), self.path.name)

    @cached_property
    def run_path(self) -> tuple[str, ...]:
        """The folders where the loader looks for needed libraries, with this one's folder in place of $ORIGIN."""
        return self._folders(_RUNPATH)

    @cached_property
    def inherited_run_path(self) -> tuple[str, ...]:
        """The folders of the older kind of run path, which also applies to the needs of needed libraries."""
        return () if self.run_path else self._folders(_RPATH)

    @cached_property
    def symbols(self) -> tuple[ImageSymbol, ...]:
        """The symbols that the loader sees."""
        return tuple(self._symbols(_SECTION_SYMBOLS))

    @cached_property
    def local_names(self) -> tuple[str, ...]:
        """The names that a debugger sees; empty if the library was stripped."""
        return tuple(symbol.name for symbol in self._symbols(_SECTION_ALL_SYMBOLS))

    @cached_property
    def versions_needed(self) -> dict[str, tuple[str, ...]]:
        """The interface versions that this library was linked with, by library."""
        found: dict[str, list[str]] = {}
        with damage_explained(self.path):
            for section in self._of_kind(_SECTION_NEEDED_VERSIONS):
                at, more, room = section.offset, 1, self._room(section, _NEED_VERSION)
                while more:
                    _, count, file, entry, more = _NEED.unpack_from(self._data, at)
                    names, place = found.setdefault(self._text(section.link, file), []), at + entry
                    room = _less(room, count + 1)
                    for _ in range(count):
                        _, _, _, name, step = _NEED_VERSION.unpack_from(self._data, place)
                        names.append(self._text(section.link, name))
                        place += step
                    at += more
        return {library: tuple(names) for library, names in found.items()}

    @cached_property
    def versions_defined(self) -> frozenset[str]:
        """The interface versions that this library defines."""
        found = set()
        with damage_explained(self.path):
            for section in self._of_kind(_SECTION_DEFINED_VERSIONS):
                at, more, room = section.offset, 1, self._room(section, _DEFINITION)
                while more:
                    room = _less(room, 1)
                    *_, entry, more = _DEFINITION.unpack_from(self._data, at)
                    found.add(self._text(section.link, struct.unpack_from("<I", self._data, at + entry)[0]))
                    at += more
        return frozenset(found)

    @cached_property
    def x86_level_needed(self) -> int | None:
        """The x86-64 level that the file needs, 2 to 4; 1 for any CPU; None if the file does not state it."""
        with damage_explained(self.path):
            for section in self._of_kind(_SECTION_NOTE):
                for kind, value in self._properties(section):
                    if kind == _ISA_NEEDED:
                        return max(1, value.bit_length())
        return None

    def defines(self, name: str) -> bool:
        """Return whether the library defines a symbol.

        The lookup uses the hash table, as the loader does; the chains of the table end with an odd value.
        """
        with damage_explained(self.path):
            for section in self._of_kind(_SECTION_HASH):
                return self._in_hash_table(section, name.encode())
        return any(symbol.name == name and symbol.is_defined for symbol in self.symbols)

    def defined_names(self, prefix: str) -> tuple[str, ...]:
        """Return the defined symbols that begin with `prefix`, sorted."""
        found = set()
        with damage_explained(self.path):
            for section in self._of_kind(_SECTION_SYMBOLS):
                names = self._sections[section.link]
                at = self._data.find(b"\0" + prefix.encode(), names.offset, names.offset + names.size)
                while at >= 0:
                    found.add(self._text(section.link, at + 1 - names.offset))
                    at = self._data.find(b"\0" + prefix.encode(), at + 1, names.offset + names.size)
        return tuple(sorted(name for name in found if self.defines(name)))

    @property
    def data(self) -> mmap.mmap:
        """The mapped file."""
        return self._data

    def holds(self, text: bytes) -> bool:
        """Return whether the file contains a text."""
        return self._data.find(text) >= 0

    def read(self, address: int, size: int) -> bytes:
        """Return the bytes at a memory address, before relocation."""
        place = self._place(address, size)
        return self._data[place : place + size]

    def pointer(self, address: int) -> int:
        """Return the target of the pointer at a memory address, after relocation."""
        if address in self._relocations:
            return self._relocations[address]
        return int.from_bytes(self.read(address, 8), "little")

    def text_at(self, address: int) -> str:
        """Return the zero-terminated text at a memory address."""
        start = self._place(address, 1)
        end = self._data.find(b"\0", start)
        if end < 0:
            raise KernelError(f"{self.path} is damaged: the text at address {address:#x} does not end; build it again")
        return self._data[start:end].decode(errors="replace")

    def _place(self, address: int, size: int) -> int:
        """Return the file offset of a memory address."""
        for kind, _, offset, start, _, in_file, _, _ in self._segments:
            if kind == _LOADED and start <= address and address + size <= start + in_file:
                place: int = offset + address - start
                if place + size <= len(self._data):  # the headers of a damaged file may exceed its size
                    return place
        raise KernelError(f"{self.path} has nothing at address {address:#x}")

    @cached_property
    def _relocations(self) -> dict[int, int]:
        """The relocations with a known target: an address in this library, or that of one of its symbols."""
        found = {}
        with damage_explained(self.path):
            for section in self._of_kind(_SECTION_RELOCATIONS):
                for at, info, addend in _RELOCATION.iter_unpack(self._slice(section)):
                    symbol = info >> 32
                    found[at] = addend + (self._symbol_address(section.link, symbol) if symbol else 0)
        return found

    def _symbol_address(self, table: int, index: int) -> int:
        return int(SYMBOL.unpack_from(self._data, self._sections[table].offset + index * SYMBOL.size)[4])

    def _of_kind(self, kind: int) -> Iterator[_Section]:
        return (section for section in self._sections if section.kind == kind)

    def _room(self, section: _Section, entry: struct.Struct) -> int:
        """Return the maximum number of entries of a table."""
        return min(section.size, len(self._data)) // entry.size

    def _slice(self, section: _Section) -> bytes:
        if section.offset + section.size > len(self._data):
            raise ValueError(f"a section ends at byte {section.offset + section.size}, the file at {len(self._data)}")
        return self._data[section.offset : section.offset + section.size]

    def _text(self, table: int, offset: int) -> str:
        start = self._sections[table].offset + offset
        end = self._data.find(b"\0", start)
        return self._data[start:end].decode(errors="replace")

    def _dynamic_texts(self, tag: int) -> tuple[str, ...]:
        with damage_explained(self.path):
            return tuple(
                self._text(section.link, value)
                for section in self._of_kind(_SECTION_DYNAMIC)
                for known, value in _PAIR.iter_unpack(self._slice(section))
                if known == tag
            )

    def _folders(self, tag: int) -> tuple[str, ...]:
        origin = os.path.dirname(os.path.realpath(self.path))
        text = ":".join(self._dynamic_texts(tag))
        return tuple(
            folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin) for folder in text.split(":") if folder
        )

    def _symbols(self, kind: int) -> Iterator[ImageSymbol]:
        with damage_explained(self.path):
            for section in self._of_kind(kind):
                names = self._slice(self._sections[section.link])
                for name, info, _, home, address, _ in SYMBOL.iter_unpack(self._slice(section)):
                    if name:
                        text = names[name : names.index(b"\0", name)].decode(errors="replace")
                        yield ImageSymbol(text, info & 15 in _FUNCTION_KINDS, home != 0, info >> 4 == _WEAK, address)

    def _properties(self, section: _Section) -> Iterator[tuple[int, int]]:
        at, end = section.offset, section.offset + section.size
        while at + _NOTE.size <= end:
            name_size, size, kind = _NOTE.unpack_from(self._data, at)
            start = at + _NOTE.size + (name_size + 3) // 4 * 4
            place = start
            while kind == _PROPERTIES_NOTE and place + 8 <= start + size:
                property_kind, length = struct.unpack_from("<II", self._data, place)
                if length == 4:
                    yield property_kind, struct.unpack_from("<I", self._data, place + 8)[0]
                place += 8 + (length + 7) // 8 * 8
            at = start + (size + 3) // 4 * 4

    def _in_hash_table(self, section: _Section, name: bytes) -> bool:
        buckets, first, words, _ = struct.unpack_from("<IIII", self._data, section.offset)
        if not buckets:
            return False
        value = 5381
        for byte in name:
            value = (value * 33 + byte) & 0xFFFFFFFF
        table = section.offset + 16 + 8 * words
        (index,) = struct.unpack_from("<I", self._data, table + 4 * (value % buckets))
        symbols = self._sections[section.link]
        while index >= first:
            (known,) = struct.unpack_from("<I", self._data, table + 4 * (buckets + index - first))
            if known | 1 == value | 1:
                entry = SYMBOL.unpack_from(self._data, symbols.offset + index * SYMBOL.size)
                start = self._sections[symbols.link].offset + entry[0]
                if entry[3] and self._data[start : start + len(name) + 1] == name + b"\0":
                    return True
            if known & 1:
                return False
            index += 1
        return False


def _less(room: int, entries: int) -> int:
    """Return the room left after some entries.

    Raises:
        ValueError: None is left; entries that overlap could otherwise loop for hours.
    """
    if entries > room:
        raise ValueError("its table of versions is longer than its section")
    return room - entries
