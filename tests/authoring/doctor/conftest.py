"""Libraries made for one test each."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Compile = Callable[..., Path]


@pytest.fixture
def compile_library(tmp_path: Path) -> Compile:
    def compile_source(source: str, *flags: str | Path, name: str = "made.so") -> Path:
        text = tmp_path / f"{name.partition('.')[0]}.cpp"
        text.write_text(source)
        subprocess.run(["g++", "-std=c++17", "-shared", "-fPIC", text, "-o", tmp_path / name, *flags], check=True)
        return tmp_path / name

    return compile_source
