"""What the headers of an installed library say, and those that they include."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from glob import glob
from pathlib import Path

from opbridge.toolchains.model import InstalledLibrary, SlimHeaders

_STANDARD = (
    *("/usr/include/c++/*", "/usr/include/*/c++/*", "/usr/lib/gcc/*/*/include"),
    *("/usr/include/*-linux-gnu", "/usr/include"),
)
"""Where a compiler's own headers mostly are, which a library's include too."""
_INCLUDED = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)", re.MULTILINE)
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)


def header_texts(library: InstalledLibrary, slim: SlimHeaders) -> Iterator[bytes]:
    """All that the library's own in the place of the slim ones may include, and maybe more: no condition is read."""
    own = (Path(flag) for flag in slim.flags if flag.startswith("/"))
    folders = [*own, library.folder, *standard_folders(), slim.include_dir]
    stood_for = slim.include_dir.rglob("*.h")
    waiting = [(path.relative_to(slim.include_dir).as_posix(), library.folder) for path in stood_for]
    seen: set[Path] = set()
    while waiting:
        name, beside = waiting.pop()
        file = next((path for folder in (*folders, beside) if (path := folder / name).is_file()), None)
        if file is None or file in seen:
            continue
        seen.add(file)
        content = file.read_bytes()
        yield content
        waiting += [(included.decode(errors="replace"), file.parent) for included in _INCLUDED.findall(content)]


def mention(library: InstalledLibrary, slim: SlimHeaders, macros: Iterable[str]) -> bool:
    """Whether headers of the library, or those that they include, could mean something else for one of the macros."""
    names = [re.escape(name.encode()) for name in sorted(macros)]
    if not names:
        return False
    word = re.compile(rb"\b(" + b"|".join(names) + rb")\b")
    return any(word.search(text) and word.search(_COMMENT.sub(b" ", text)) for text in header_texts(library, slim))


@cache
def standard_folders() -> tuple[Path, ...]:
    return tuple(Path(folder) for pattern in _STANDARD for folder in sorted(glob(pattern)))
