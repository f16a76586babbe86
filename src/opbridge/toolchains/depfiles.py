"""The makefile rules in which a compiler says which files it read."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path


def files_read(depfile: Path, folder: Path, besides: Sequence[Path]) -> list[Path]:
    """The prerequisites of the one rule in the file, for a compiler that ran in `folder`, but for those in others."""
    _, _, inputs = depfile.read_text(errors="surrogateescape").replace("\\\n", " ").partition(": ")
    words = dict.fromkeys(re.findall(r"(?:\\[ #\\]|\S)+", inputs))
    names = (re.sub(r"\\([ #\\])", r"\1", word).replace("$$", "$") for word in words)
    # A library's headers are thousands of names, so paths are made of the others only.
    left_out = tuple(f"{path}/" for path in besides)
    return [Path(path) for name in names if not (path := os.path.join(folder, name)).startswith(left_out)]
