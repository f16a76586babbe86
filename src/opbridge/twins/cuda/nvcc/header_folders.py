"""Select the header folders to rewrite like the sources: those of the project and of libraries that it names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from opbridge.build.toolchains.library_headers import standard_folders
from opbridge.twins import cuda

_HAVE_COPIES = ("ATen", "thrust", "cub", "cuda/std")
"""Folders of PyTorch and CCCL, whose rewritten headers already come before all others."""


def rewritten_folders(host: Sequence[str]) -> list[Path]:
    """Return the folders after `-I`, then those after `-isystem`, from the compiler's arguments.

    CMake passes the libraries it found with `-isystem`. nvcc compiles the kernels in both.
    """
    own = [Path(word[2:]) for word in host if word.startswith("-I") and len(word) > 2]
    named = [Path(folder) for word, folder in pairwise(host) if word == "-isystem"]
    return own + [folder for folder in named if _is_a_library_s(folder)]


def _is_a_library_s(folder: Path) -> bool:
    """Return whether the folder belongs neither to the host nor to a library that the twin handles itself."""
    here = Path(os.path.realpath(folder))
    known = {Path(os.path.realpath(standard)) for standard in (*standard_folders(), cuda.INCLUDE)}
    return here not in known and not any((here / name).is_dir() for name in _HAVE_COPIES)
