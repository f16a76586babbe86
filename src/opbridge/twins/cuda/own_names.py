"""Device code is its source's own: nvcc makes a program for the device of each, unless device code is linked.

Other sources may have other functions of the same names, a `struct Point` with members of its own for one, and other
variables, the tables of a header for instance; on a GPU nothing joins the two.  A linker for the host would: of inline
functions and templates it keeps the first, and variables it refuses.
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
"""Stands for all of them among names of functions."""

RELOCATABLE = "OPBRIDGE_TWIN_RELOCATABLE"
"""The macro of a source whose device code is linked with others'."""

SEVERAL = "OPBRIDGE_TWIN_SEVERAL_SOURCES"
"""The macro of one that is not alone."""

_SHARED, _VARIABLES = "WVun", "DBRGS"
"""What nm calls symbols of which a linker keeps one, and what stands for such ones together (constructors and
destructors); and variables of which there may be one."""

_LIBRARIES = re.compile(r"_ZN?[KV]?(S[tabsiod]|2at|3c10|5torch|8pybind11|6thrust|3cub|4cuda|13opbridge_twin)")
_INSIDE = re.compile(r"_Z(?:GV)?Z(.*)")
"""Variables and lambdas inside of functions."""


def make_own(made: Path, functions: AbstractSet[str], variables: AbstractSet[str]) -> None:
    """Gives those of an object file that are called so symbols that no other file has."""
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
    # By what came of it: one source may be compiled twice, with other macros.
    digest = hashlib.sha1(made.read_bytes()).hexdigest()[:16]
    with tempfile.NamedTemporaryFile("w") as renamed:
        renamed.writelines(f"{symbol} {symbol}.of_{digest}\n" for symbol in sorted(own | inside))
        renamed.flush()
        subprocess.run(["objcopy", f"--redefine-syms={renamed.name}", str(made)], check=True)


def _symbols(made: Path) -> Iterator[tuple[str, str]]:
    """Their kinds and names, without those of libraries."""
    listed = subprocess.run(["nm", str(made)], capture_output=True, text=True, errors="surrogateescape").stdout
    for line in listed.splitlines():
        kind, symbol = line.split()[-2:]
        if not _LIBRARIES.match(symbol):
            yield kind, symbol


def _names(symbols: list[str]) -> list[str]:
    """Without namespaces, classes and arguments."""
    if not symbols:
        return []
    asked = "".join(f"{symbol}\n" for symbol in symbols)
    said = subprocess.run(["c++filt", "-p"], input=asked, capture_output=True, text=True, errors="surrogateescape")
    return [_last_name(line) for line in said.stdout.splitlines()]


def _last_name(function: str) -> str:
    """Of `space::Point<a::b>::set<int>`: set."""
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
