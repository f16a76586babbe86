"""Keep the inline variables of a library apart from those of other libraries in the same process.

The version script of a build hides mangled names.  A variable of the global namespace has no mangled name, but its
guard has one (`_ZGV4name`): the guard is local while g++ makes the variable unique in the process (STB_GNU_UNIQUE).
Two libraries then construct and destroy one object.  Neither -Bsymbolic nor a dynamic list binds a unique symbol to its
own library, so these names go into the version script.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from pathlib import Path

from opbridge.base.elf_format import HEADER, SECTION, SYMBOL, damage_explained
from opbridge.build.toolchains.compiler_processes import Outcome
from opbridge.build.toolchains.interface import Command, Commands

_DYNAMIC_SYMBOLS = 11
_UNIQUE = 10
"""SHT_DYNSYM and STB_GNU_UNIQUE."""


def link(commands: Commands, library: Path, run: Callable[[Command], Outcome]) -> Outcome:
    """Link a library; link it again without its unique variables if it exports any that should be its own."""
    outcome = run(commands.link)
    if outcome.failed or commands.exports is None or not (names := unique_variables(library)):
        return outcome
    hidden = "".join(f' "{name}";' for name in names)
    script = commands.exports.read_text(encoding="utf-8")
    commands.exports.write_text(script.replace("local:", f"local:{hidden}"), encoding="utf-8")
    return run(commands.link)


def unique_variables(library: Path) -> list[str]:
    """Return the unmangled names that a library exports as unique in the process."""
    if not library.is_file() or library.stat().st_size < HEADER.size:
        return []
    with (
        damage_explained(library),
        library.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        names = sorted(set(_unique(data)))
    return [name.decode() for name in names if not name.startswith(b"_Z")]


def _unique(data: mmap.mmap) -> Iterator[bytes]:
    header = HEADER.unpack_from(data)
    if header[0][:4] != b"\x7fELF":
        return
    sections = [SECTION.unpack_from(data, header[6] + at * header[11]) for at in range(header[12])]
    for _, kind, _, _, offset, size, link, *_ in sections:
        if kind != _DYNAMIC_SYMBOLS:
            continue
        names = sections[link][4]
        for name, info, *_ in SYMBOL.iter_unpack(data[offset : offset + size]):
            if info >> 4 == _UNIQUE:
                yield data[names + name : data.find(b"\0", names + name)]
