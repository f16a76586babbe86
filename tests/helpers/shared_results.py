"""A result with a file of its own and a header it was made from, published as another machine would."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opbridge.build.cache import Build, Cache, Dependencies, KeyBuilder
from opbridge.build.cache.shared import SharedCache, SigningKey

KEY = KeyBuilder("test").add("name", "a key").key()
SOMEBODY = 65534

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="takes the rights to become another user")


def compiled(header: Path) -> Build:
    """A build whose result follows from a file."""

    def build(folder: Path) -> Dependencies:
        (folder / "nested").mkdir()
        (folder / "nested" / "result").write_text(f"compiled {header.read_text()}")
        return Dependencies((header,), (header.with_name("shadow.h"),))

    return build


def refuses(folder: Path) -> Dependencies:
    pytest.fail("built what the shared cache has")


def published(tmp_path: Path, header: Path, shared: SharedCache, key: SigningKey | None = None) -> Path:
    """The result's folder in the shared cache, after a machine of its own published it."""
    builder = Cache(tmp_path / "builder")
    assert builder.publish(builder.fetch(KEY, compiled(header)).path, shared, key)
    (result,) = shared.root.glob("*/*/*")
    return result
