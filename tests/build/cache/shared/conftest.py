"""A header that a result is made from, and a folder that the environment names as the shared cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from opbridge.build.cache.shared import SharedCache, results


@pytest.fixture(autouse=True)
def says_everything_again() -> Iterator[None]:
    yield
    results._warn.cache_clear()


@pytest.fixture
def header(tmp_path: Path) -> Path:
    path = tmp_path / "header.h"
    path.write_text("first")
    return path


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SharedCache:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o755)
    monkeypatch.setenv("OPBRIDGE_SHARED_CACHE", str(folder))
    return SharedCache(folder)
