"""A folder of results for many machines: few write it, the others copy from it what they would have built.

It may lie on a network disk, where locks cannot be relied on and others may write.  So nothing in it is ever changed,
only added, and nothing is run from it: a result is copied into the private cache, and the copies are checked.

    ab/<first key>/<result key>.<random>/files/     the files of one result
    ab/<first key>/<result key>.<random>/seal       what it was made from, and the hash of each file
    ab/<first key>/.<random>/                       one that is being written

A result appears by one rename, under a name that nobody else has; that two publish the same at once costs only space.
The hashes show damage.  Against malice there is the seal's owner: it must be this user, the administrator or whom
OPBRIDGE_SHARED_CACHE_TRUST names, and nobody else may be able to write the file.  As the seal names keys and hashes, it
does not matter who may write the folders around it.
"""

from __future__ import annotations

import functools
import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from opbridge.cache.dependencies import UNKNOWN_STAMP, DependencySet, as_on_disk, digest_of, sealed, unsealed
from opbridge.cache.filesystem import FULL, files_below, remove
from opbridge.errors import CacheError

if TYPE_CHECKING:
    from logging import Logger

TRUST = "OPBRIDGE_SHARED_CACHE_TRUST"
_ABANDONED_SECONDS = 24 * 3600


class _Seal(TypedDict):
    first: str
    record: DependencySet
    hashes: dict[str, str]


@dataclass(frozen=True)
class SharedCache:
    root: Path

    def take(self, first: str, roots: Mapping[str, str], folder: Path) -> DependencySet | None:
        """Copies the files of the result that fits what is on the disk now into `folder`, if one is there."""
        digests: dict[str, str] = {}
        try:
            for result, seal in self._results(first):
                current = as_on_disk(seal["record"], roots, digests)
                if current is not None and _copied(result / "files", folder, seal["hashes"]):
                    _log().info("took %s from the shared cache", result)
                    return current
        except OSError as error:
            if error.errno in FULL:
                raise  # that is the private cache's disk
            _warn(f"the shared cache {self.root} cannot be read: {error.strerror}; it is done without")
        return None

    def publish(self, first: str, record: DependencySet, entry: Path, hashes: Mapping[str, str]) -> bool:
        """Adds a result; False if it is there."""
        try:
            _open_folder(self.root, 0o755)
            if self._has(first, record["entry"]):
                return False
            shelf = self._shelf(first)
            mode = stat.S_IMODE(self.root.stat().st_mode)
            for level in (shelf.parent, shelf):
                _open_folder(level, mode)
            _remove_abandoned(shelf)
            files = [[name, digest, *UNKNOWN_STAMP] for name, digest, *_ in record["files"]]
            seal = _Seal(first=first, record={**record, "files": files}, hashes=dict(hashes))
            _write_result(shelf, record["entry"], entry, seal)
        except OSError as error:
            raise CacheError(
                f"cannot publish into the shared cache {self.root}: {error.strerror}: {error.filename or ''}\n"
                "  expected a folder that this user may write, with room in it"
            ) from error
        return True

    def _has(self, first: str, result: str) -> bool:
        return any(
            seal["record"]["entry"] == result and _whole(path / "files", seal["hashes"])
            for path, seal in self._results(first)
        )

    def _results(self, first: str) -> Iterator[tuple[Path, _Seal]]:
        """Those under a first key that somebody trusted has sealed."""
        if not self.root.is_dir():
            _warn(f"there is no shared cache at {self.root}; it is done without")
            return
        with suppress(FileNotFoundError):
            shelf = self._shelf(first)
            for name in sorted(os.listdir(shelf)):
                if not name.startswith(".") and (seal := self._seal(shelf / name)) and seal["first"] == first:
                    yield shelf / name, seal

    def _seal(self, result: Path) -> _Seal | None:
        path = result / "seal"
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return None  # removed a moment ago
        except OSError as error:
            _warn(f"{path} cannot be opened: {error.strerror}")
            return None
        with open(descriptor, "rb") as file:
            # Of the open file: whatever the path leads to a moment later is not what is read.
            status = os.fstat(descriptor)
            if reason := _mistrust(status):
                _warn(f"the shared cache {self.root} has a result that {reason}")
                return None
            body = unsealed(file.read())
        if body is None:
            _warn(f"{path} is damaged; what it stood for will be built")
            return None
        seal: _Seal = json.loads(body)
        return seal

    def _shelf(self, first: str) -> Path:
        return self.root / first[:2] / first


def _write_result(shelf: Path, result: str, entry: Path, seal: _Seal) -> None:
    unfinished = shelf / f".{os.urandom(6).hex()}"
    unfinished.mkdir()
    try:
        for name in seal["hashes"]:
            _write(unfinished / "files" / name, (entry / name).read_bytes())
        _write(unfinished / "seal", sealed(json.dumps(seal, separators=(",", ":")).encode()))
        for top, _, _ in os.walk(unfinished):
            os.chmod(top, 0o755)
        unfinished.rename(shelf / f"{result}{unfinished.name}")
    finally:
        remove(unfinished)


def _write(path: Path, content: bytes) -> None:
    """For others to read, whatever the umask says; on the disk before the rename that shows it to them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        os.fchmod(file.fileno(), 0o644)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _open_folder(path: Path, mode: int) -> None:
    """Made as open as the folder it is for: several users may publish into one."""
    if not path.is_dir():
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(mode)


def _remove_abandoned(shelf: Path) -> None:
    for unfinished in shelf.glob(".*"):
        with suppress(OSError):
            if unfinished.stat().st_mtime < time.time() - _ABANDONED_SECONDS:
                remove(unfinished)


def _copied(files: Path, folder: Path, hashes: Mapping[str, str]) -> bool:
    """Copies first and checks the copies, as nobody else can change those."""
    import shutil

    try:
        for name in hashes:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(files / name, folder / name)
    except FileNotFoundError:
        return False  # removed a moment ago
    if _whole(folder, hashes):
        return True
    _warn(f"{files} is damaged; what it held will be built")
    for path in files_below(folder):
        path.unlink()
    return False


def _whole(folder: Path, hashes: Mapping[str, str]) -> bool:
    try:
        return all(digest_of(folder / name) == digest for name, digest in hashes.items())
    except FileNotFoundError:
        return False


def _mistrust(status: os.stat_result) -> str:
    """Why a seal does not count; empty where it does."""
    if not _trusted(status.st_uid, os.environ.get(TRUST, "")):
        user = _user_name(status.st_uid)
        return f"user {user} published, which is not used\n  if you would run what they compile: export {TRUST}={user}"
    if not stat.S_ISREG(status.st_mode) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others may write (mode {stat.S_IMODE(status.st_mode):o}), which is not used; expected 644"
    return ""


@functools.cache
def _trusted(user: int, named: str) -> bool:
    # The administrator could replace opbridge itself.
    return user in (os.geteuid(), 0) or any(_means(word, user) for word in named.replace(",", " ").split())


def _means(word: str, user: int) -> bool:
    """Whether a user's name, their number or @ and the name of a group of theirs means a user."""
    import grp
    import pwd

    try:
        if word.isdigit():
            return int(word) == user
        if not word.startswith("@"):
            return pwd.getpwnam(word).pw_uid == user
        group = grp.getgrnam(word[1:]).gr_gid
    except KeyError:
        raise CacheError(
            f"{TRUST} names {word!r}, who is not known here; expected users and @groups, as in `ci,@builders`"
        ) from None
    try:
        account = pwd.getpwuid(user)
    except KeyError:
        return False
    return group in os.getgrouplist(account.pw_name, account.pw_gid)


def _user_name(user: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


@functools.cache
def _warn(text: str) -> None:
    """Once for a process, which may look for hundreds of results."""
    _log().warning("%s", text)


def _log() -> Logger:
    # Imported where something is said, as logging is slow to import.
    import logging

    return logging.getLogger("opbridge")
