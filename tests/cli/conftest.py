"""A command line in a folder and with a cache of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import fresh_cache
import pytest
from forked_python import PYTHON

Opbridge = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fresh_cache.fill(tmp_path_factory.mktemp("cache") / "opbridge")


@pytest.fixture
def opbridge(tmp_path: Path, cache_folder: Path) -> Opbridge:
    """Runs the command in tmp_path as a user would; keywords are environment variables."""

    def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PYTHON, "-m", "opbridge", *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "OPBRIDGE_CACHE_DIR": str(cache_folder), **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    return run
