"""The contents of a seal: the key of its result, the files it was made from, and its own files."""

from __future__ import annotations

import json
from dataclasses import dataclass

from opbridge.build.cache.dependencies import DependencySet, dependency_set, is_digest, sealed, unsealed


@dataclass(frozen=True)
class SealedFile:
    """One file of a result."""

    name: str
    """A relative path with slashes that does not leave the folder."""
    digest: str
    size: int


@dataclass(frozen=True)
class Seal:
    """The description of a result in a shared cache; `bytes(seal)` is the file to write."""

    first: str
    record: DependencySet
    files: tuple[SealedFile, ...]

    @classmethod
    def parse(cls, content: bytes) -> Seal | None:
        """Return the seal in a file's content, or None if the content is damaged or not a seal."""
        body = unsealed(content)
        if body is None:
            return None
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, dict) or value.keys() != {"first", "record", "files"}:
            return None
        record, files = dependency_set(value["record"]), _files(value["files"])
        if record is None or files is None or not is_digest(value["first"]):
            return None
        return cls(value["first"], record, files)

    def __bytes__(self) -> bytes:
        files = [[file.name, file.digest, file.size] for file in self.files]
        value = {"first": self.first, "record": self.record, "files": files}
        return sealed(json.dumps(value, separators=(",", ":")).encode())

    @property
    def size(self) -> int:
        """The number of bytes in all files."""
        return sum(file.size for file in self.files)


def _files(value: object) -> tuple[SealedFile, ...] | None:
    if not isinstance(value, list) or not all(map(_is_file, value)):
        return None
    return tuple(SealedFile(*file) for file in value)


def _is_file(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 3:
        return False
    name, digest, size = value
    return _is_inside(name) and is_digest(digest) and type(size) is int and size >= 0


def _is_inside(name: object) -> bool:
    return isinstance(name, str) and "\0" not in name and not {"", ".", ".."} & {*name.split("/")}
