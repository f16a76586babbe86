"""The dynamic loader's search for libraries: run paths, LD_LIBRARY_PATH, its cache, the system folders."""

from __future__ import annotations

import functools
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from opbridge.base.errors import KernelError
from opbridge.build.sources.elf_image import Image

CACHE = Path("/etc/ld.so.cache")
_DEFAULT_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")
_MAGIC = b"glibc-ld.so.cache1.1"
_CACHE_HEADER = struct.Struct("<20sII20x")
_CACHE_ENTRY = struct.Struct("<iIIIQ")


@dataclass(frozen=True)
class Missing:
    """A library that the loader does not find."""

    library: str
    needed_by: str


@dataclass(frozen=True)
class Closure:
    """Everything that the loader loads with a library."""

    images: tuple[Image, ...]
    """The library, followed by the others in the order of symbol lookup."""
    missing: tuple[Missing, ...]

    @property
    def needed(self) -> tuple[Image, ...]:
        """The libraries loaded with the first one."""
        return self.images[1:]

    def named(self, library: str) -> Image | None:
        """Return the library of this name, or None."""
        return next((image for image in self.images if library in (image.soname, image.path.name)), None)


def closure(image: Image, loaded: Mapping[str, Path] | None = None) -> Closure:
    """Return the library with all that it needs.

    `loaded` maps library names to the paths of libraries that the process has already loaded.
    """
    images, missing = [image], dict[str, Missing]()
    inherited = {image: image.inherited_run_path}
    names = {image.soname}
    for one in images:  # the loop body extends this list
        for name in one.needed:
            if name in names:
                continue
            names.add(name)
            path = find_library(name, one, inherited[one]) or (loaded or {}).get(name)
            if path is None:
                missing[name] = Missing(name, one.path.name)
                continue
            found = Image(path)
            inherited[found] = (*found.inherited_run_path, *inherited[one])
            images.append(found)
    return Closure(tuple(images), tuple(missing.values()))


def find_library(name: str, needing: Image, inherited: Iterable[str] = ()) -> Path | None:
    """Return the first library of this name on the loader's search path that is for the same machine."""
    if "/" in name:
        return Path(name) if _suits(Path(name), needing) else None
    return next((path for path in _candidates(name, needing, inherited) if _suits(path, needing)), None)


def _candidates(name: str, needing: Image, inherited: Iterable[str]) -> Iterator[Path]:
    folders = [] if needing.run_path else list(inherited)
    folders += [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").replace(";", ":").split(":") if folder]
    for folder in (*folders, *needing.run_path):
        yield Path(folder, name)
    yield from (Path(path) for path in cached_libraries().get(name, ()))
    for folder in _DEFAULT_FOLDERS:
        yield Path(folder, name)


def _suits(path: Path, needing: Image) -> bool:
    with suppress(KernelError, OSError):
        return path.is_file() and Image(path).machine == needing.machine
    return False


@functools.cache
def cached_libraries(cache: Path = CACHE) -> dict[str, tuple[str, ...]]:
    """Return the paths that ldconfig has found, by library name; empty without such a cache."""
    try:
        data = cache.read_bytes()
    except OSError:
        return {}
    start = data.find(_MAGIC)  # some systems have an older table before it
    if start < 0:
        return {}
    found: dict[str, tuple[str, ...]] = {}
    with suppress(struct.error, ValueError):
        _, count, _ = _CACHE_HEADER.unpack_from(data, start)
        for i in range(count):
            at = start + _CACHE_HEADER.size + i * _CACHE_ENTRY.size
            _, key, value, _, _ = _CACHE_ENTRY.unpack_from(data, at)
            name, path = (os.fsdecode(data[start + place : data.index(b"\0", start + place)]) for place in (key, value))
            found[name] = (*found.get(name, ()), path)
    return found
