from __future__ import annotations

import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from opbridge.build.cache import Cache
from opbridge.build.toolchains import BuildRequest


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CXX", "CXXFLAGS", "LDFLAGS", "CPATH", "NO_COLOR", "OPBRIDGE_BUILD_TIMEOUT", "OPBRIDGE_CACHE_SIZE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def request_for(project: Path) -> Callable[..., BuildRequest]:
    """A request for one library from the text of its source."""

    def make(text: str, name: str = "kernel.cpp", **fields: object) -> BuildRequest:
        source = project / name
        source.write_text(text)
        return BuildRequest((source,), f"{source.stem}.so", **fields)  # type: ignore[arg-type]

    return make


class Wrapper:
    """A compiler that notes every compilation before it does it."""

    def __init__(self, path: Path, before: str = "") -> None:
        self.path = path
        self._log = path.with_suffix(".log")
        path.write_text(f'#!/bin/sh\necho "$@" >> {self._log}\n{before}\nexec {shutil.which("g++")} "$@"\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    @property
    def runs(self) -> list[str]:
        return self._log.read_text().splitlines() if self._log.exists() else []

    @property
    def compiled(self) -> int:
        return sum(" -c " in run for run in self.runs)


@pytest.fixture
def wrapper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Wrapper]:
    """Puts itself in the place of the compiler; `before` is shell code that it runs first."""

    def install(before: str = "", name: str = "wrapper") -> Wrapper:
        made = Wrapper(tmp_path / name, before)
        monkeypatch.setenv("CXX", str(made.path))
        return made

    return install
