"""The list of PyTorch's releases begins with the oldest that opbridge takes, as its metadata says it."""

from __future__ import annotations

import runpy
from pathlib import Path

from opbridge.build.toolchains.torch_install import OLDEST

ROOT = Path(__file__).parents[2]


def test_it_begins_with_the_oldest_that_is_taken() -> None:
    releases = runpy.run_path(str(ROOT / "tools" / "torch_releases.py"))["RELEASES"]
    minors = [tuple(map(int, release.split(".")[:2])) for release in releases]
    assert minors == sorted(set(minors))
    assert minors[0] == OLDEST
    oldest = ".".join(map(str, OLDEST))
    assert f'\ntorch = ["torch>={oldest}"]\n' in (ROOT / "pyproject.toml").read_text()
