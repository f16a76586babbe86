"""Unique symbols for device code, which belongs to its source: nvcc builds one device program for each source.

Other sources may have different functions of the same names, for instance a `struct Point` with its own members. They
may also have different variables of the same names, for instance the tables of a header. Nothing joins them on a GPU,
unless device code is linked. A host linker would: of inline functions and templates it keeps the first, and duplicate
variables are an error.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import tempfile
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path

OPERATOR = "operator"
"""The function name that represents every operator."""

RELOCATABLE = "OPBRIDGE_TWIN_RELOCATABLE"
"""The macro of a source whose device code is linked with that of other sources."""

SEVERAL = "OPBRIDGE_TWIN_SEVERAL_SOURCES"
"""The macro of a source that is compiled together with others."""

_SHARED, _VARIABLES = "WVun", "DBRGS"
"""The nm letters of symbols that a linker merges, and of variables that may exist only once.

The former include the symbols that combine constructors or destructors.
"""

_LIBRARIES = re.compile(r"_ZN?[KV]?(S[tabsiod]|2at|3c10|5torch|8pybind11|6thrust|3cub|4cuda|13opbridge_twin)")
_INSIDE = re.compile(r"_Z(?:GV)?Z(.*)")
"""Matches variables and lambdas inside functions."""


def make_own(made: Path, functions: AbstractSet[str], variables: AbstractSet[str]) -> None:
    """Rename the symbols of these functions and variables in an object file, so that no other file has them."""
    if not functions | variables:
        return
    symbols = [(kind, symbol) for kind, symbol in _symbols(made) if kind in _SHARED + _VARIABLES]
    own: set[str] = set()
    for (kind, symbol), name in zip(symbols, _names([symbol for _, symbol in symbols]), strict=True):
        is_function = kind in _SHARED and symbol.startswith("_Z")
        if name in variables or (is_function and name in functions):
            own.add(symbol)
    if not own:
        return
    bodies = tuple(f"{symbol[2:]}E" for symbol in own if symbol.startswith("_Z"))
    inside = {symbol for _, symbol in symbols if (found := _INSIDE.match(symbol)) and found[1].startswith(bodies)}
    # The digest covers the object file: one source may be compiled twice, with different macros.
    digest = hashlib.sha1(made.read_bytes()).hexdigest()[:16]
    with tempfile.NamedTemporaryFile("w") as renamed:
        renamed.writelines(f"{symbol} {symbol}.of_{digest}\n" for symbol in sorted(own | inside))
        renamed.flush()
        subprocess.run(["objcopy", f"--redefine-syms={renamed.name}", str(made)], check=True)


def _symbols(made: Path) -> Iterator[tuple[str, str]]:
    """Yield the kind and name of each symbol outside the libraries."""
    listed = subprocess.run(["nm", str(made)], capture_output=True, text=True, errors="surrogateescape").stdout
    for line in listed.splitlines():
        kind, symbol = line.split()[-2:]
        if not _LIBRARIES.match(symbol):
            yield kind, symbol


def _names(symbols: list[str]) -> list[str]:
    """Return the names of symbols without namespaces, classes and arguments."""
    if not symbols:
        return []
    asked = "".join(f"{symbol}\n" for symbol in symbols)
    said = subprocess.run(["c++filt", "-p"], input=asked, capture_output=True, text=True, errors="surrogateescape")
    return [_last_name(line) for line in said.stdout.splitlines()]


def _last_name(function: str) -> str:
    """Return the last component of a function name: `set` for `space::Point<a::b>::set<int>`."""
    depth, name = 0, ""
    for letter in function.partition(" [clone")[0]:
        if name.startswith(OPERATOR):
            return OPERATOR
        depth += (letter in "<(") - (letter in ">)")
        if letter == ":" and depth == 0:
            name = ""
        elif depth == 0 and letter not in ">)":
            name += letter
    return name.lstrip("~")
