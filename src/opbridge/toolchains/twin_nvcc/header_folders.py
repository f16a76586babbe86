"""Whose headers are rewritten as the sources are: those of the project, and of libraries that a project names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from opbridge.toolchains.library_headers import standard_folders
from opbridge.twins import cuda

_HAVE_COPIES = ("ATen", "thrust", "cub", "cuda/std")
"""Of PyTorch and CCCL, whose headers stand rewritten before all others."""


def rewritten_folders(host: Sequence[str]) -> list[Path]:
    """Of the compiler's words: those behind `-I`, and then those behind `-isystem`, where CMake puts what it has found.

    nvcc compiles the kernels in both.
    """
    own = [Path(word[2:]) for word in host if word.startswith("-I") and len(word) > 2]
    named = [Path(folder) for word, folder in pairwise(host) if word == "-isystem"]
    return own + [folder for folder in named if _is_a_library_s(folder)]


def _is_a_library_s(folder: Path) -> bool:
    """And neither the host's nor one that the twin has its own way with."""
    here = Path(os.path.realpath(folder))
    known = {Path(os.path.realpath(standard)) for standard in (*standard_folders(), cuda.INCLUDE)}
    return here not in known and not any((here / name).is_dir() for name in _HAVE_COPIES)
