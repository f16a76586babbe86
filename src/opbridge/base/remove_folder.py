"""Removal of folders whose contents are not trusted: however deep they are, and whatever lies in them."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from opbridge.base.safe_open import opened_folder


@contextmanager
def temporary_folder(parent: str | Path | None = None) -> Iterator[Path]:
    """Create a folder that only this user can access, yield it, and remove it with `remove_tree`."""
    folder = Path(tempfile.mkdtemp(dir=parent))
    try:
        yield folder
    finally:
        remove_tree(folder)


def remove_tree(folder: str | Path) -> None:
    """Remove a folder that no process writes to any more; follow no links, and need neither a stack nor long paths.

    The folders inside a folder move up to the top before it is removed, so that depth costs nothing.
    """
    with suppress(FileNotFoundError):
        with opened_folder(folder) as top:
            while _emptied(top):
                pass
        os.rmdir(folder)


def _emptied(top: int) -> bool:
    """Remove the files in a folder, and take each folder apart; return whether folders are left."""
    numbers = count()
    left = False
    for name in os.listdir(top):
        if not stat.S_ISDIR(os.stat(name, dir_fd=top, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=top)
            continue
        os.chmod(name, 0o700, dir_fd=top)  # no link: it was a folder, and nobody else writes here
        with opened_folder(name, top) as inner:
            for each in os.listdir(inner):
                left |= _moved_up(each, inner, top, numbers)
        os.rmdir(name, dir_fd=top)
    return left


def _moved_up(name: str, inner: int, top: int, numbers: Iterator[int]) -> bool:
    """Remove a file, or move a folder to the top under a name that is free; return whether it was a folder."""
    if not stat.S_ISDIR(os.stat(name, dir_fd=inner, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=inner)
        return False
    os.chmod(name, 0o700, dir_fd=inner)
    free = next(number for number in numbers if not _exists(f"{number}", top))
    os.rename(name, f"{free}", src_dir_fd=inner, dst_dir_fd=top)
    return True


def _exists(name: str, within: int) -> bool:
    try:
        os.stat(name, dir_fd=within, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
