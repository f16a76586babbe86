"""Find the platform tag of a wheel: the oldest system that provides everything its libraries need."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from opbridge.base.errors import KernelError
from opbridge.build.sources.elf_image import Image

_OLDEST_GLIBC = (2, 17)
"""The oldest C library among the systems that Python 3.10 and PyTorch 2.10 support."""

_CXX_RELEASES = (
    ((2, 17), {"GLIBCXX": (3, 4, 19), "CXXABI": (1, 3, 7)}),
    ((2, 24), {"GLIBCXX": (3, 4, 22), "CXXABI": (1, 3, 10)}),
    ((2, 27), {"GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11)}),
    ((2, 31), {"GLIBCXX": (3, 4, 28), "CXXABI": (1, 3, 12)}),
    ((2, 34), {"GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13)}),
    ((2, 35), {"GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13)}),
    ((2, 39), {"GLIBCXX": (3, 4, 33), "CXXABI": (1, 3, 15)}),
)
"""The C++ library versions that distributions shipped with each C library, from the manylinux policies."""

_EVERYWHERE = re.compile(r"(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|ld-linux[\w-]*)\.so\.\d+")
_PYTORCHS = re.compile(r"lib(torch|torch_cpu|torch_python|c10)\.so")


@dataclass(frozen=True)
class Needs:
    """The requirements of a library on the system that loads it."""

    libraries: tuple[str, ...]
    versions: tuple[str, ...]
    """Symbol versions such as GLIBC_2.17."""

    @classmethod
    def of(cls, path: Path) -> Needs:
        """Read what a library requires."""
        image = Image(path)
        return cls(image.needed, tuple(version for versions in image.versions_needed.values() for version in versions))

    @property
    def glibc(self) -> tuple[int, ...]:
        """The C library version of the oldest system that has all required versions."""
        newest: tuple[int, ...] = _OLDEST_GLIBC
        for version in self.versions:
            library, _, number = version.partition("_")
            if version == "GLIBC_ABI_DT_RELR":
                newest = max(newest, (2, 36))
            elif library == "GLIBC" and number[0].isdigit():
                newest = max(newest, _numbers(number))
            elif library in ("GLIBCXX", "CXXABI") and number[0].isdigit():
                newest = max(newest, _glibc_with(library, _numbers(number)))
        return newest

    @property
    def strangers(self) -> tuple[str, ...]:
        """The required libraries that neither every system nor PyTorch provides."""
        known = (_EVERYWHERE.fullmatch(name) or _PYTORCHS.fullmatch(name) for name in self.libraries)
        return tuple(name for name, is_known in zip(self.libraries, known, strict=True) if not is_known)


def platform_tag(needs: Iterable[Needs]) -> str:
    """Return the platform tag, which pip compares with the C library; "any" if there are no libraries."""
    oldest = max((need.glibc for need in needs), default=None)
    return "any" if oldest is None else f"manylinux_{oldest[0]}_{oldest[1]}_{os.uname().machine}"


def _glibc_with(library: str, version: tuple[int, ...]) -> tuple[int, ...]:
    for glibc, had in _CXX_RELEASES:
        if version <= had[library]:
            return glibc
    number = ".".join(map(str, version))
    raise KernelError(
        f"a library needs {library} {number}, newer than any distribution's that wheels are made for; "
        "link it with -static-libstdc++, or compile it with an older compiler"
    )


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))
