"""The dependency files of compilers that read a rewritten source instead of the user's."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path


def add_dependencies(depfile: Path, files: Iterable[Path], made: Path) -> None:
    """Replace the copies in the folder `made`, which is temporary, by the user files in a makefile rule.

    If the compiler wrote empty rules, as -MP asks, each user file gets one too.
    """
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
