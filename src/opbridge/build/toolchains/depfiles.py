"""Read the makefile rules in which a compiler lists the files it read."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path


def files_read(depfile: Path, folder: Path, besides: Sequence[Path]) -> list[Path]:
    """Return the prerequisites of the one rule in the depfile, without files below the folders `besides`.

    `folder` is the folder in which the compiler ran; relative names start there.
    """
    _, _, inputs = depfile.read_text(errors="surrogateescape").replace("\\\n", " ").partition(": ")
    words = dict.fromkeys(re.findall(r"(?:\\[ #\\]|\S)+", inputs))
    names = (re.sub(r"\\([ #\\])", r"\1", word).replace("$$", "$") for word in words)
    # A library has thousands of headers, so filter the names before making paths of them.
    left_out = tuple(f"{path}/" for path in besides)
    return [Path(path) for name in names if not (path := os.path.join(folder, name)).startswith(left_out)]
