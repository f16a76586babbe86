"""A cache of its own for each test, and a file that a result depends on."""

from __future__ import annotations

from pathlib import Path

import pytest
from cache_entries import Header

from opbridge.build.cache import Cache


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def header(tmp_path: Path, cache: Cache) -> Header:
    return Header(tmp_path / "header.h", cache)
