"""Check the output files and folders of a command before it starts."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from opbridge.base.errors import InputError


def require_writable(*paths: Path | None) -> None:
    """Raise an InputError if a file cannot be written, before the command spends minutes on its contents."""
    for path in paths:
        if path is not None:
            _require(path)


def _require(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{path} is a folder; expected a file", hint=f"name one in it: {path / 'NAME'}")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder} to write {path.name} to", hint=f"mkdir -p {folder}")
    is_new = not path.exists()
    try:
        path.open("a").close()
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}", hint="name another file") from error
    if is_new:
        path.unlink()


def require_writable_folder(*folders: Path | None) -> None:
    """Raise an InputError if files cannot be written to a folder, which a command makes where it is not there yet."""
    for folder in folders:
        if folder is not None and (why := _why_not(folder)):
            raise InputError(f"cannot write to {folder}: {why}", hint="name a folder that you may write to")


def _why_not(folder: Path) -> str:
    """Try the nearest folder that is there: permissions alone say nothing about disks that are read-only or full."""
    try:
        there = next(path for path in (folder.absolute(), *folder.absolute().parents) if os.path.lexists(path))
        if not there.exists():
            return f"{there} is a link to a place that is not there"
        if not there.is_dir():
            return f"{there} is a file" if there.is_file() else f"{there} is not a folder"
        if any(len(os.fsencode(part)) > os.pathconf(there, "PC_NAME_MAX") for part in folder.parts):
            return os.strerror(errno.ENAMETOOLONG)
        with tempfile.TemporaryFile(dir=there, prefix=".opbridge-"):
            return ""
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)
