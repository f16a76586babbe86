"""File operations for the cache and its users, each safe if a process dies at any moment."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from opbridge.base.errors import CacheError, DiskFullError, InputError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)
_ELSEWHERE = "name another folder: export OPBRIDGE_CACHE_DIR=/a/folder/of/yours"


class NoFolderError(CacheError):
    """The folder of a cache is not there and cannot be made, as below a home that is read-only."""

    def __init__(self, path: Path, reason: str, to_do: str) -> None:
        super().__init__(f"the cache folder {path} cannot be created: {reason}\n  {to_do}")
        self.reason = reason


def private_folder(path: Path) -> None:
    """Make the folder for this user alone, or refuse one into which another user could put code.

    Raises NoFolderError where there is none and none can be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
        link, folder = path.lstat(), path.stat()
    except (FileExistsError, NotADirectoryError) as error:
        raise NoFolderError(path, "a file is in its place", _ELSEWHERE) from error
    except OSError as error:
        to_do = f"make it: mkdir -p -m 700 {path}\n  or {_ELSEWHERE}"
        raise NoFolderError(path, error.strerror or str(error), to_do) from error
    # The administrator could replace opbridge itself, so a folder owned by root adds no danger.
    trusted = {os.geteuid(), 0}
    for what, owner in (("owned by", folder.st_uid), ("a link made by", link.st_uid)):
        if owner not in trusted:
            raise CacheError(
                f"the cache folder {path} is {what} user {owner}, who could put code into it; "
                f"expected user {os.geteuid()}\n"
                f"  take it over, if you trust what is in it: sudo chown -hR {os.geteuid()} {path}\n  or {_ELSEWHERE}"
            )
    if folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise CacheError(
            f"the cache folder {path} has mode {stat.S_IMODE(folder.st_mode):o}: others may put code into it; "
            f"expected 700\n  close it: chmod 700 {path}\n  or {_ELSEWHERE}"
        )


@contextmanager
def disk_explained(root: Path) -> Iterator[None]:
    """Turn disk errors inside the `with` block into cache errors that tell the user what to do.

    Errors about files outside `root` pass unchanged.
    """
    try:
        yield
    except FileNotFoundError:
        raise  # removed a moment ago; the callers look again
    except OSError as error:
        if error.errno in FULL:
            raise full_disk(root, error.strerror) from error
        if error.filename is not None and Path(os.fsdecode(error.filename)).is_relative_to(root):
            raise CacheError(
                f"the cache {root} cannot be used: {error.filename}: {error.strerror}\n"
                f"  all in it can be made again: rm -rf {error.filename}\n  or {_ELSEWHERE}"
            ) from error
        raise


def full_disk(root: Path, reason: str | None) -> DiskFullError:
    """Return the error for a disk without room for a result."""
    return DiskFullError(
        f"no room for the result in the cache {root}: {reason}\n"
        f"  free some: opbridge cache gc, or opbridge cache clear\n  or {_ELSEWHERE}"
    )


@contextmanager
def locked_if_free(path: Path) -> Iterator[bool]:
    """Hold the lock of a file and yield True, or yield False if another process holds it.

    The file exists only while a process holds its lock. The kernel releases the lock when that process dies, for
    any reason.
    """
    descriptor = _open(path)
    if _lock(descriptor, path) and _still_at(path, descriptor):
        with _releasing(path, descriptor):
            yield True
    else:
        os.close(descriptor)
        yield False


def wait_until_free(path: Path) -> None:
    """Wait until the holder of the lock is done.

    All waiters continue at the same time. If they queued for the lock, they would take turns.
    """
    with suppress(FileNotFoundError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        _unlock(descriptor)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def _lock(descriptor: int, path: Path) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        os.close(descriptor)
        if error.errno in _NO_LOCKS:
            raise CacheError(f"the disk of {path} has no file locks ({error.strerror})\n  {_ELSEWHERE}") from error
        raise
    return True


def _still_at(path: Path, descriptor: int) -> bool:
    """Return whether the locked file is still at its path.

    A holder removes its file on release, and a lock on a removed file protects nothing.
    """
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    return False


@contextmanager
def _releasing(path: Path, descriptor: int) -> Iterator[None]:
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            os.unlink(path)
        _unlock(descriptor)


def _unlock(descriptor: int) -> None:
    # A child forked meanwhile shares the lock through its copy of the descriptor, so closing ours is not enough.
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def folder_of_this_process(prefix: str) -> Path:
    """Make a new folder, which goes when the process ends; raise an OSError where nothing can be written."""
    import atexit
    import tempfile

    folder, owner = Path(tempfile.mkdtemp(prefix=prefix)), os.getpid()
    # A forked child runs the handlers of its parent too.
    atexit.register(lambda: remove(folder) if os.getpid() == owner else None)
    return folder


def remove(path: Path) -> None:
    """Remove as much of a file or folder as possible: another process may be removing it or still writing into it."""
    import shutil

    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def set_aside(path: Path, aside: Path) -> None:
    """Move a folder to `aside` with one rename, so that no process sees it half removed."""
    try:
        path.rename(aside)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        remove(path)  # an overlay over another cache, as a judged answer uses, cannot move the folders of the lower one


def copy_atomically(source: Path, target: Path) -> None:
    """Copy a file to `target` in one step: a program that has the old file open or loaded keeps the old one.

    Raises:
        InputError: The target cannot be written.
    """
    import shutil

    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, unfinished)
        unfinished.chmod(0o755)
        unfinished.replace(target)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror}") from None
    finally:
        with suppress(OSError):
            unfinished.unlink()


def replace_by_folder(path: Path) -> None:
    """Create a folder, replacing a file at that path: everything in a cache can be made again."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except FileExistsError:
        path.unlink()
        path.mkdir(mode=0o700)


def folders_in(path: Path) -> list[Path]:
    """Return the folders directly inside a folder, without links; empty if it does not exist."""
    with suppress(FileNotFoundError), os.scandir(path) as children:
        return [Path(child.path) for child in children if child.is_dir(follow_symlinks=False)]
    return []


def files_below(folder: Path) -> list[Path]:
    """Return all files below a folder, sorted."""
    return sorted(Path(top, name) for top, _, names in os.walk(folder) for name in names)


def names_in(folder: Path) -> list[str]:
    """Return the names in a folder; empty if it does not exist."""
    with suppress(FileNotFoundError):
        return os.listdir(folder)
    return []
