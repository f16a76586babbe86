"""What stands for PTX, cubins and fatbins: a library for this machine's processor, written as a text.

A text, because programs hold PTX as one: they end it where its first zero is.
"""

from __future__ import annotations

import base64
from pathlib import Path

MARK = "//opbridge-cuda-twin-image "
"""How one begins; runtime/images.cpp reads the rest: the library's size in bytes, a new line, and base64."""

SUFFIXES = {"-ptx": ".ptx", "-cubin": ".cubin", "-fatbin": ".fatbin"}
"""Of the files that nvcc writes."""

FLAGS = ("-fPIC", "-fno-gnu-unique")
"""Nothing of one is another's."""
LINK = ("-shared", "-Wl,-Bsymbolic")
"""Without the twin's library: the program that loads it has that."""


def image_of(library: Path) -> str:
    content = library.read_bytes()
    return f"{MARK}{len(content)}\n{base64.b64encode(content).decode()}\n"
