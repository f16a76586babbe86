"""Where the dynamic loader finds what a library needs: run paths, LD_LIBRARY_PATH, its cache, the system's folders."""

from __future__ import annotations

import functools
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from opbridge.errors import KernelError
from opbridge.sources.elf_image import Image

CACHE = Path("/etc/ld.so.cache")
_DEFAULT_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")
_MAGIC = b"glibc-ld.so.cache1.1"
_CACHE_HEADER = struct.Struct("<20sII20x")
_CACHE_ENTRY = struct.Struct("<iIIIQ")


@dataclass(frozen=True)
class Missing:
    library: str
    needed_by: str


@dataclass(frozen=True)
class Closure:
    """Everything that the loader would bring in with a library."""

    images: tuple[Image, ...]
    """The library first, the others in the order in which symbols are looked for."""
    missing: tuple[Missing, ...]

    @property
    def needed(self) -> tuple[Image, ...]:
        return self.images[1:]

    def named(self, library: str) -> Image | None:
        return next((image for image in self.images if library in (image.soname, image.path.name)), None)


def closure(image: Image, loaded: Mapping[str, Path] | None = None) -> Closure:
    """`loaded`: what the process will have loaded before, by the names that the loader then takes it by."""
    images, missing = [image], dict[str, Missing]()
    inherited = {image: image.inherited_run_path}
    names = {image.soname}
    for one in images:  # grows as it goes
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
    """The first library of this name, of the same kind of machine, on the loader's way."""
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
    """By name: what ldconfig has found; nothing where there is no such cache."""
    try:
        data = cache.read_bytes()
    except OSError:
        return {}
    start = data.find(_MAGIC)  # behind a table of an older form, on some systems
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
