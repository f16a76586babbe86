"""A folder that replaces an installed toolkit: written as a whole, and again when its inputs change."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from opbridge.base.errors import InputError
from opbridge.build.cache.filesystem import set_aside

MARK = "opbridge-twin"
"""The file that marks the folder as written by opbridge and records what it was made from."""


def write(home: Path, stamp: str, fill: Callable[[Path], None]) -> Path:
    """Write the folder with `fill`, unless it already has this stamp, and return its path.

    `fill` writes into a temporary folder next to it, which then replaces the old one. Another process may be
    writing or using the same folder.

    Raises:
        InputError: The folder exists and opbridge did not write it.
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
                raise  # an equal stamp means that another process was faster
    return home


def add_library(library: Path, place: Path) -> None:
    """Give a library a name in such a folder, instead of any older one, and keep it one file where that is possible.

    A process that loads it by both names then has it once: of two copies, each would have devices of its own.
    """
    place.unlink(missing_ok=True)
    try:
        os.link(library, place)
    except OSError:  # another file system, or one without hard links
        shutil.copyfile(library, place)


def stamp_of(home: Path) -> str:
    """Return the stamp of the folder; empty if the folder is missing or empty.

    Raises:
        InputError: The folder has other content.
    """
    try:
        return (home / MARK).read_text(encoding="utf-8")
    except OSError:
        if os.path.lexists(home) and not (home.is_dir() and not any(home.iterdir())):
            message = f"{home} exists and was not made by this command"
            raise InputError(message, hint="name a new folder") from None
        return ""
