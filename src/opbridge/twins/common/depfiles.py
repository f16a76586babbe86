"""The files that a compiler has read, where it was given a rewritten source in the place of the user's."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path


def add_dependencies(depfile: Path, files: Iterable[Path], made: Path) -> None:
    """Names the user's files in the compiler's makefile rule, and not the copies of them in the folder `made`, which
    will be gone; each has a rule of its own, as -MP asks for, where the compiler has written such."""
    rule, *phony = depfile.read_text(errors="surrogateescape").replace("\\\n", " ").splitlines()
    target, colon, inputs = rule.partition(": ")
    names = [_escaped(path) for path in files]
    read = [name for name in re.findall(r"(?:\\.|\S)+", inputs) if not name.startswith(_escaped(made))]
    phony = [line for line in phony if line and not line.startswith(_escaped(made))]
    phony += [f"{name}:" for name in names[1:]] if phony else []
    lines = [" \\\n ".join([f"{target}{colon}".rstrip(), *dict.fromkeys((*read, *names))]), *phony]
    depfile.write_text("".join(f"{line}\n" for line in lines), errors="surrogateescape")


def _escaped(path: Path) -> str:
    return str(path).replace("$", "$$").replace(" ", "\\ ").replace("#", "\\#")
