"""Entries of a cache, and what builds them."""

from __future__ import annotations

from pathlib import Path

import pytest

from opbridge.build.cache import Build, Cache, CacheEntry, Dependencies, Key, KeyBuilder

KEY = KeyBuilder("test").add("name", "a key").key()
LONG_AGO = 10_000
A_TICK = 0.02
"""Longer than a tick of the disk's clock."""


class Header:
    """A file that a result depends on, and the work that reads it."""

    def __init__(self, path: Path, cache: Cache) -> None:
        self.path = path
        self.cache = cache
        self.builds = 0
        self.write("first")

    def write(self, text: str) -> None:
        self.path.write_text(text)

    def fetch(self) -> str:
        return (self.entry().path / "result").read_text()

    def entry(self) -> CacheEntry:
        return self.cache.fetch(KEY, self.build)

    def build(self, folder: Path) -> Dependencies:
        self.builds += 1
        (folder / "result").write_text(self.path.read_text())
        return Dependencies((self.path,))


def writes(text: str) -> Build:
    def build(folder: Path) -> Dependencies:
        (folder / "result").write_text(text)
        return Dependencies()

    return build


def refuses(folder: Path) -> Dependencies:
    pytest.fail("built what was in the cache")


def key(name: object) -> Key:
    return KeyBuilder("test").add("name", str(name)).key()
