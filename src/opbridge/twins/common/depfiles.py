"""The files that a compiler has read, where it was given a rewritten source in the place of the user's."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def add_dependencies(depfile: Path, files: Iterable[Path]) -> None:
    """Names the user's files, which the compiler has not seen, in the makefile rule that it wrote."""
    rule = depfile.read_text(errors="surrogateescape").rstrip()
    names = [str(path).replace("$", "$$").replace(" ", "\\ ").replace("#", "\\#") for path in files]
    depfile.write_text(" \\\n ".join([rule, *names]) + "\n", errors="surrogateescape")
