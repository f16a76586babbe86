"""Libraries for the linker only, as in a toolkit's lib64/stubs: a program linked to one finds the real library by path.

CMake links programs of C++ and CUDA with the host compiler and sets no run path for the runtime: NVIDIA's
runtime is linked statically.
"""

from __future__ import annotations

import struct
from pathlib import Path

_DYNAMIC, _SONAME = 6, 14
_SECTION, _ENTRY = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<qQ")


def stub(library: Path, found_at: Path) -> bytes:
    """Return the library's bytes with the path `found_at` as its soname, which linked programs then ask for.

    Only the section headers point to the new name. Linkers read nothing else, and no one loads a stub.
    """
    data = bytearray(library.read_bytes())
    (table,) = struct.unpack_from("<Q", data, 40)
    _, count, _ = struct.unpack_from("<HHH", data, 58)
    places = [table + i * _SECTION.size for i in range(count)]
    sections = [_SECTION.unpack_from(data, place) for place in places]
    _, _, _, _, first, size, strings, *_ = next(section for section in sections if section[1] == _DYNAMIC)
    _, kind, flags, address, text, length, *rest = sections[strings]
    for at in range(first, first + size, _ENTRY.size):
        if _ENTRY.unpack_from(data, at)[0] == _SONAME:
            _ENTRY.pack_into(data, at, _SONAME, length)
    names = data[text : text + length] + str(found_at).encode() + b"\0"
    _SECTION.pack_into(data, places[strings], sections[strings][0], kind, flags, address, len(data), len(names), *rest)
    return bytes(data + names)
