"""The files that a result was made from, with their contents: the recorded state and the comparison with the disk."""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypedDict, TypeGuard

from opbridge.base.safe_open import kind_of

DIGEST_BYTES = 20
_DIGEST = re.compile(f"[0-9a-f]{{{2 * DIGEST_BYTES}}}")
_PIECE_BYTES = 1 << 20
_SLICE_BYTES = 64 << 20
# A file may change twice within one tick of the disk's clock, so compare the content until the tick is surely over.
_YOUNG_NS = 2_000_000_000
UNKNOWN_STAMP = (-1, 0, 0)
"""A stamp that no file has, so that the content is always compared."""
_large: dict[str, tuple[tuple[int, int, int], str]] = {}
"""The stamps and digests of large files that this process has read, because reading one takes half a second."""


class DependencySet(TypedDict):
    """The files that one result was made from, as stored in an index."""

    entry: str
    absent: list[str]
    files: list[list[Any]]
    """Name, digest, and the file's size and times when its content had that digest."""


def dependency_set(value: object) -> DependencySet | None:
    """Return the value as a dependency set, or None if it is not one.

    An intact file may still have been written by another program or by a stranger.
    """
    if not isinstance(value, dict) or value.keys() != {"entry", "absent", "files"}:
        return None
    entry, absent, files = value["entry"], value["absent"], value["files"]
    if not is_digest(entry) or not isinstance(absent, list) or not isinstance(files, list):
        return None
    if not all(map(_is_name, absent)) or not all(map(_is_file, files)):
        return None
    return {"entry": entry, "absent": absent, "files": files}


def is_digest(value: object) -> TypeGuard[str]:
    """Return whether a value is a digest as this module writes them."""
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value[:1] in ("/", "@")


def _is_file(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 5
        and _is_name(value[0])
        and isinstance(value[1], str)
        and all(isinstance(number, int) for number in value[2:])
    )


def as_on_disk(record: DependencySet, roots: Mapping[str, str], digests: dict[str, str]) -> DependencySet | None:
    """Return the set with the current stamps of its files, or None if a file's content no longer matches.

    Args:
        roots: The folders by name that start with "@" in recorded names.
        digests: Digests already computed, by path; new ones are added.
    """
    now = time.time_ns()
    files = []
    try:
        if any(os.path.exists(expanded(name, roots)) for name in record["absent"]):
            return None
        for file in record["files"]:
            name, digest, size, modified, changed = file
            path = expanded(name, roots)
            status = os.stat(path)
            if (status.st_size, status.st_mtime_ns, status.st_ctime_ns) != (size, modified, changed):
                if path not in digests:
                    digests[path] = digest_of(path)
                if digests[path] != digest:
                    return None
                file = [name, digest, *stamp(status, now)]
            files.append(file)
    except (OSError, ValueError, KeyError):
        return None  # a file is gone, or a name means nothing here
    return {**record, "files": files}


def stamp(status: os.stat_result, now: int) -> tuple[int, int, int]:
    """Return a file's size and times, or UNKNOWN_STAMP if it changed too recently to rely on them."""
    if status.st_ctime_ns > now - _YOUNG_NS:
        return UNKNOWN_STAMP
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def shortened(path: str, roots: Mapping[str, str]) -> str:
    """Return an absolute path, or `@name/...` for a path below one of the roots (the innermost)."""
    inside = [(name, root) for name, root in roots.items() if path.startswith(f"{root}/")]
    if not inside:
        return os.path.abspath(path)
    name, root = max(inside, key=lambda place: len(place[1]))
    return f"@{name}{path[len(root) :]}"


def expanded(path: str, roots: Mapping[str, str]) -> str:
    """Return the path for a name from `shortened`.

    Raises:
        KeyError: The name starts with an unknown root.
    """
    if path[0] == "/":
        return path
    name, _, rest = path[1:].partition("/")
    return f"{roots[name]}/{rest}"


def digest_of(path: str | Path) -> str:
    """Return the digest of a file's content.

    For a large file, such as a precompiled header, it is the digest of the digests of its slices, which threads
    compute in parallel.

    Raises:
        OSError: The path is not a regular file or cannot be read.
    """
    status = os.stat(path)
    if kind := kind_of(status):
        raise OSError(errno.EINVAL, f"expected a file, it is {kind}", str(path))
    if not is_large(status):
        return _digest_of_slice(path, 0)
    seen = stamp(status, time.time_ns())
    known = _large.get(str(path))
    if known and known[0] == seen != UNKNOWN_STAMP:
        return known[1]
    from concurrent.futures import ThreadPoolExecutor

    starts = range(0, status.st_size, _SLICE_BYTES)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        slices = threads.map(lambda start: _digest_of_slice(path, start), starts)
        digest = hash_of("".join(slices).encode())
    _large[str(path)] = (seen, digest)
    return digest


def is_large(status: os.stat_result) -> bool:
    """Return whether reading the file takes so long that its digest is worth remembering."""
    return status.st_size > _SLICE_BYTES


def _digest_of_slice(path: str | Path, start: int) -> str:
    """Return the digest of one slice, read in pieces because a slice may be larger than the free memory."""
    digest = blake2b(digest_size=DIGEST_BYTES)
    with open(path, "rb", buffering=0) as file:
        file.seek(start)
        for _ in range(_SLICE_BYTES // _PIECE_BYTES):
            if not (piece := file.read(_PIECE_BYTES)):
                break
            digest.update(piece)
    return digest.hexdigest()


def hash_of(content: bytes) -> str:
    """Return the digest of the bytes."""
    return blake2b(content, digest_size=DIGEST_BYTES).hexdigest()


def sealed(body: bytes) -> bytes:
    """Return the bytes preceded by their digest, so that a reader can tell whether they are complete."""
    return hash_of(body).encode() + b"\n" + body


def unsealed(content: bytes) -> bytes | None:
    """Return the bytes passed to `sealed`, or None if they are damaged."""
    seal, _, body = content.partition(b"\n")
    return body if seal.decode("ascii", "replace") == hash_of(body) else None
