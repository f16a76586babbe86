"""The twin's replacement for PTX, cubins and fatbins: a library for this machine's processor, encoded as text.

It must be text because programs hold PTX as a string that ends at its first zero byte.
"""

from __future__ import annotations

import base64
from pathlib import Path

MARK = "//opbridge-cuda-twin-image "
"""The start of an image. runtime/images.cpp reads the rest: the library's size in bytes, a newline, and base64."""

SUFFIXES = {"-ptx": ".ptx", "-cubin": ".cubin", "-fatbin": ".fatbin"}
"""The suffixes of the files that nvcc writes, by phase."""

FLAGS = ("-fPIC", "-fno-gnu-unique")
"""Flags that keep the symbols of images separate."""
LINK = ("-shared", "-Wl,-Bsymbolic")
"""Link flags. The twin's library is not linked: the program that loads the image has it."""


def image_of(library: Path) -> str:
    """Return a library encoded as an image."""
    content = library.read_bytes()
    return f"{MARK}{len(content)}\n{base64.b64encode(content).decode()}\n"
