"""Decide whether a source that does not compile with slim headers could compile with the full ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from opbridge.build.toolchains.interface import InstalledLibrary
from opbridge.build.toolchains.library_headers import header_texts, standard_folders

_ERROR = re.compile(r"(?:fatal )?error: (.*)")
_NOT_OF_HEADERS = re.compile(
    r"call of overloaded .* is ambiguous|call to '\w+' is ambiguous|cannot convert |invalid conversion from "
    r"|too (?:few|many) arguments to function|redefinition of |conflicting declaration |lvalue required "
    r"|assignment of read-only |['‘](?:class|struct|union) .* has no member named |no member named '\w+' in '"
    r"|.*: No such file or directory|'.*' file not found|.*: not supported by the CUDA twin"
    r"|(?:#error )?C\+\+\d+ or later compatible compiler is required "
)
"""Errors that additional declarations cannot fix."""
_NOT_A_MEMBER = re.compile(
    r"['‘](\w+)['’] is not a member of ['‘]([\w:]+)['’]|no member named '(\w+)' in namespace '([\w:]+)'"
)
_NOT_DECLARED = re.compile(r"['‘](\w+)['’] was not declared in this scope|use of undeclared identifier '(\w+)'")


def would_fail_anyway(messages: str, library: InstalledLibrary) -> bool:
    """Return whether the source would fail with the library's full headers too.

    Only the compiler's first error counts, since later ones may follow from it.
    """
    first = _ERROR.search(messages)
    if first is None or _NOT_OF_HEADERS.match(first[1]):
        return first is not None
    namespaces = library.slim_headers.namespaces if library.slim_headers else ()
    unknown = {name.encode() for name in _unknown_names(first[1], namespaces)}
    for content in header_texts(library, library.slim_headers) if unknown and library.slim_headers else ():
        unknown = {name for name in unknown if name not in content}
    return bool(unknown)


def _unknown_names(error: str, namespaces: Sequence[str]) -> Iterator[str]:
    if found := _NOT_A_MEMBER.match(error):
        name, namespace = found[1] or found[3], found[2] or found[4]
        if namespace.partition("::")[0] in namespaces:
            yield name
    elif (found := _NOT_DECLARED.match(error)) and any((folder / "vector").is_file() for folder in standard_folders()):
        yield found[1] or found[2]
