"""The CUTLASS headers of an installed package: kernel-builder provides them, and projects only name them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

Version = tuple[int, int]

_NEED = re.compile(r"cutlass_(\d+)_(\d+)")
_HEADERS = "cutlass_library/source/include"
_UTILITIES = "cutlass_library/source/tools/util/include"
_NUMBER = re.compile(r"#define CUTLASS_(?:MAJOR|MINOR) (\d+)")
_PUBLISHED: tuple[Version, ...] = ((3, 3), (3, 4), (3, 5), (3, 6), (3, 7), (3, 8), (4, 2))
"""The versions of nvidia-cutlass on PyPI (BSD-3-Clause)."""


def folders(need: str) -> tuple[Path, ...]:
    """Return the include folders for a need such as cutlass_3_6; empty if no suitable package is installed."""
    wanted = _version(need)
    if wanted is None:
        return ()
    headers = next((site for site, version in _installed() if _serves(version, wanted)), None)
    return (headers / _HEADERS, headers / _UTILITIES) if headers else ()


def advice(need: str) -> str | None:
    """Return the command that installs a need, or None if it is not CUTLASS."""
    wanted = _version(need)
    serving = [version for version in _PUBLISHED if wanted and _serves(version, wanted)]
    if not serving:
        return None
    command = "pip install --no-deps nvidia-cutlass=={}.{}.*".format(*serving[0])
    there = next((", in place of {}.{}".format(*version) for _, version in _installed()), "")
    return f"{command}{there}"


def _serves(version: Version, wanted: Version) -> bool:
    return version[0] == wanted[0] and version >= wanted


def _version(need: str) -> Version | None:
    found = _NEED.fullmatch(need)
    return (int(found[1]), int(found[2])) if found else None


def _installed() -> Iterator[tuple[Path, Version]]:
    """Yield the installed versions, in the order in which `import` would find them."""
    for site in map(Path, sys.path):
        header = site / _HEADERS / "cutlass" / "version.h"
        if header.is_file():
            major, minor = _NUMBER.findall(header.read_text(encoding="utf-8"))[:2]
            yield site, (int(major), int(minor))
