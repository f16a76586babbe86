"""Color on a terminal, plain text everywhere else."""

from __future__ import annotations

import os
import sys
from typing import TextIO


def bold(text: str, stream: TextIO | None = None) -> str:
    """Return the text in bold if the stream, by default standard output, is a terminal."""
    return _styled("1", text, stream)


def red(text: str, stream: TextIO | None = None) -> str:
    """Return the text in red if the stream, by default standard output, is a terminal."""
    return _styled("31", text, stream)


def green(text: str, stream: TextIO | None = None) -> str:
    """Return the text in green if the stream, by default standard output, is a terminal."""
    return _styled("32", text, stream)


def yellow(text: str, stream: TextIO | None = None) -> str:
    """Return the text in yellow if the terminal has colours."""
    return _styled("33", text, stream)


def _styled(code: str, text: str, stream: TextIO | None) -> str:
    stream = stream or sys.stdout
    if os.environ.get("NO_COLOR") or stream is None or not stream.isatty():
        return text
    return f"\033[{code}m{text}\033[0m"


def size(count: float) -> str:
    """Return a number of bytes as text with a unit."""
    for unit in ("B", "KB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"
