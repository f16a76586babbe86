"""Whether what did not compile by the short way through a library's headers could compile by the long one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from glob import glob
from pathlib import Path

from opbridge.toolchains.model import InstalledLibrary

_ERROR = re.compile(r"(?:fatal )?error: (.*)")
_NOT_OF_HEADERS = re.compile(
    r"call of overloaded .* is ambiguous|call to '\w+' is ambiguous|cannot convert |invalid conversion from "
    r"|too (?:few|many) arguments to function|redefinition of |conflicting declaration |lvalue required "
    r"|assignment of read-only |['‘](?:class|struct|union) .* has no member named |no member named '\w+' in '"
)
"""More declarations mend none of these."""
_NOT_A_MEMBER = re.compile(
    r"['‘](\w+)['’] is not a member of ['‘]([\w:]+)['’]|no member named '(\w+)' in namespace '([\w:]+)'"
)
_NOT_DECLARED = re.compile(r"['‘](\w+)['’] was not declared in this scope|use of undeclared identifier '(\w+)'")
_STANDARD = (
    *("/usr/include/c++/*", "/usr/include/*/c++/*", "/usr/lib/gcc/*/*/include"),
    *("/usr/include/*-linux-gnu", "/usr/include"),
)
"""Where a compiler's own headers mostly are, which a library's include too."""
_INCLUDED = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)", re.MULTILINE)


def would_fail_anyway(messages: Sequence[str], library: InstalledLibrary) -> bool:
    """By each compiler's first error, since later ones may come of it."""
    firsts = [first[1] for message in messages if (first := _ERROR.search(message))]
    if any(_NOT_OF_HEADERS.match(first) for first in firsts):
        return True
    namespaces = library.slim_headers.namespaces if library.slim_headers else ()
    unknown = {name.encode() for first in firsts for name in _unknown_names(first, namespaces)}
    for content in _headers(library) if unknown else ():
        unknown = {name for name in unknown if name not in content}
    return bool(unknown)


def _unknown_names(error: str, namespaces: Sequence[str]) -> Iterator[str]:
    if found := _NOT_A_MEMBER.match(error):
        name, namespace = found[1] or found[3], found[2] or found[4]
        if namespace.partition("::")[0] in namespaces:
            yield name
    elif (found := _NOT_DECLARED.match(error)) and any((folder / "vector").is_file() for folder in _standard()):
        yield found[1] or found[2]


def _headers(library: InstalledLibrary) -> Iterator[bytes]:
    """All that the library's own in the place of the slim ones may include, and maybe more: no condition is read."""
    slim = library.slim_headers
    assert slim is not None
    folders = [*(Path(flag) for flag in slim.flags if flag.startswith("/")), library.folder, *_standard()]
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


@cache
def _standard() -> tuple[Path, ...]:
    return tuple(Path(folder) for pattern in _STANDARD for folder in sorted(glob(pattern)))
