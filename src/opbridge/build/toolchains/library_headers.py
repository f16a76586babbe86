"""Read the text of an installed library's headers and of the headers that they include."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from glob import glob
from pathlib import Path

from opbridge.build.toolchains.interface import InstalledLibrary, SlimHeaders

_STANDARD = (
    *("/usr/include/c++/*", "/usr/include/*/c++/*", "/usr/lib/gcc/*/*/include"),
    *("/usr/include/*-linux-gnu", "/usr/include"),
)
"""The usual folders of a compiler's own headers, which a library's headers include too."""
_INCLUDED = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)", re.MULTILINE)
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)


def header_texts(library: InstalledLibrary, slim: SlimHeaders) -> Iterator[bytes]:
    """Yield the text of every header that the library's full headers may include.

    The result may contain too many headers, because preprocessor conditions are not evaluated.
    """
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
    """Return whether one of the macros could change the meaning of the library's headers or of those they include."""
    names = [re.escape(name.encode()) for name in sorted(macros)]
    if not names:
        return False
    word = re.compile(rb"\b(" + b"|".join(names) + rb")\b")
    return any(word.search(text) and word.search(_COMMENT.sub(b" ", text)) for text in header_texts(library, slim))


@cache
def standard_folders() -> tuple[Path, ...]:
    """Return the existing folders of the compiler's and the system's headers."""
    return tuple(Path(folder) for pattern in _STANDARD for folder in sorted(glob(pattern)))
