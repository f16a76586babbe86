"""Libraries for linkers alone, as a toolkit has in lib64/stubs: what is linked to one finds the real one by its path.

CMake links a program of C++ and CUDA by the host's compiler, and says nothing of where libraries are found when it
runs: NVIDIA's runtime is a part of the program by then.
"""

from __future__ import annotations

import struct
from pathlib import Path

_DYNAMIC, _SONAME = 6, 14
_SECTION, _ENTRY = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<qQ")


def stub(library: Path, found_at: Path) -> bytes:
    """The library under another name of its own, which what is linked to it asks for.

    The name is put where sections say that it is, and so for linkers, which look at nothing else.
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
