"""Safe opening of files that may be anything: only regular files are read, no open blocks, links can be refused."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISLNK, "a link"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
)


def kind_of(status: os.stat_result) -> str:
    """Return the kind of a file that is not regular, in words; empty if it is regular."""
    if stat.S_ISREG(status.st_mode):
        return ""
    return next((kind for fits, kind in _KINDS if fits(status.st_mode)), "a device")


def open_file(path: str | Path, within: int | None = None, *, follow: bool = True) -> int:
    """Open a regular file, relative to the open folder `within`, and return its descriptor.

    Raises:
        OSError: The path is anything else; opening never blocks.
    """
    # Opening a device may have effects, so the path is checked first, and the opened file again.
    _expect_file(os.stat(path, dir_fd=within, follow_symlinks=follow), path)
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    descriptor = os.open(path, flags, dir_fd=within)
    try:
        _expect_file(os.fstat(descriptor), path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def read_file(path: str | Path, within: int | None = None, *, follow: bool = True, limit: int = -1) -> bytes:
    """Read a regular file, or at most `limit` bytes of it."""
    with open(open_file(path, within, follow=follow), "rb") as file:
        return file.read(limit)


def real_path(path: str | Path) -> Path:
    """Return the path without links; unlike Path.resolve, which some Pythons have fail, also of links in a circle."""
    return Path(os.path.realpath(path))


def read_json(path: str | Path) -> Any:
    """Return what a JSON file says; what is not a file is an OSError, and what is not JSON a ValueError."""
    import json

    try:
        return json.loads(read_file(path).decode("utf-8"))
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply") from None


@contextmanager
def opened_folder(path: str | Path, within: int | None = None) -> Iterator[int]:
    """Open a folder that is not a link, and yield its descriptor."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _expect_file(status: os.stat_result, path: str | Path) -> None:
    if kind := kind_of(status):
        raise OSError(errno.EINVAL, f"expected a file, it is {kind}", str(path))
