"""A folder that stands for an installed toolkit: put in place as a whole, and again when it would be another."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from opbridge.cache.filesystem import set_aside
from opbridge.errors import InputError

MARK = "opbridge-twin"
"""The file that says whose folder this is, and what it was made from."""


def write(home: Path, stamp: str, fill: Callable[[Path], None]) -> Path:
    """Has `fill` write the folder in a place beside its own, unless it is there with this stamp.

    Another process may be writing the same one, or using it.
    """
    if stamp_of(home) == stamp:
        return home
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=f".{home.name}-") as beside:
        new, old = Path(beside, "new"), Path(beside, "old")
        new.mkdir()
        fill(new)
        (new / MARK).write_text(stamp, encoding="utf-8")
        with suppress(FileNotFoundError):
            set_aside(home, old)
        try:
            new.rename(home)
        except OSError:
            if stamp_of(home) != stamp:
                raise  # and where it is, another process was quicker
    return home


def stamp_of(home: Path) -> str:
    """What the folder was made from; an InputError where it is somebody else's."""
    try:
        return (home / MARK).read_text(encoding="utf-8")
    except OSError:
        if os.path.lexists(home) and not (home.is_dir() and not any(home.iterdir())):
            message = f"{home} is there already, and not of this command's making"
            raise InputError(message, hint="name a new folder") from None
        return ""
