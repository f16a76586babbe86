"""Confine an answer: no network, no writes outside its folder, no view of the user's files, no harm to others.

Linux enforces this. The process has a root folder of its own, in which only what it needs is to be seen; writes to the
cache are private. Landlock removes the rights to write elsewhere, to trace and to signal, and a seccomp filter the
system calls that no answer needs.
"""

from __future__ import annotations

import os
import signal
import stat
import struct
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from opbridge.analysis.judge.process.linux_calls import check, libc
from opbridge.analysis.judge.process.own_root import OwnRoot, mount
from opbridge.analysis.judge.process.refused_calls import refuse_calls
from opbridge.base.errors import InputError

_NEW_MOUNTS, _NEW_USER, _NEW_NETWORK, _NEW_IPC = 0x00020000, 0x10000000, 0x40000000, 0x08000000
_NEW_NAMES = 0x04000000
_OWN = _NEW_MOUNTS | _NEW_NETWORK | _NEW_IPC | _NEW_NAMES
_PRIVATE, _ALL_BELOW = 0x40000, 0x4000
_NO_NEW_PRIVILEGES = 38
_DIE_WITH_PARENT = 1
_CREATE_RULESET, _ADD_RULE, _RESTRICT = 444, 445, 446
_VERSION_OF_LANDLOCK = 1
_SET_CAPABILITIES = {"x86_64": 126, "aarch64": 91}.get(os.uname().machine, -1)
_CAPABILITIES_OF_64_BITS = 0x20080522
_BENEATH = 1
_WRITING = 1 << 1 | sum(1 << bit for bit in range(4, 13))
"""Landlock rights to write, remove and create files; not to execute, read and list them."""
_SINCE = ((2, 1 << 13), (3, 1 << 14))
"""Landlock versions that added rights: moving between folders, and truncating."""
_SCOPES = 0b11
"""Landlock scopes: no abstract sockets and no signals to processes outside."""

_UPPER, _WORK, _ROOT = "cache", "cache-work", "root"
"""The subfolders: for what an answer writes to the cache, for the overlay, and for its root folder."""


@dataclass(frozen=True)
class Cell:
    """The confinement of an answer."""

    folder: Path
    """The folder that it may write to."""
    cache: Path
    """The cache: it can be read, but writes are private."""
    hidden: tuple[Path, ...] = ()
    """Files and folders that appear empty, if they lie in what is shown."""
    shown: tuple[Path, ...] = ()
    """Files and folders that it can read in addition to programs and the cache."""


def enter(cell: Cell) -> None:
    """Confine the calling process and all processes that it will start.

    Call this before the process has a second thread.

    Raises:
        UnsupportedError: This machine cannot confine a process.
    """
    _take_namespaces()
    upper, work, place = (cell.folder / name for name in (_UPPER, _WORK, _ROOT))
    upper.mkdir(mode=0o700, exist_ok=True)
    for folder in (work, place):
        folder.mkdir(mode=0o700)
    root = OwnRoot(place)
    root.show_what_programs_need()
    root.lay_over(cell.cache, upper, work)
    for path in cell.shown:
        root.show(path)
    for path in cell.hidden:
        root.hide(path)
    root.show_writable(cell.folder)
    root.enter()
    _end_rights_to_write((cell.folder, cell.cache, Path("/dev")))
    refuse_calls()
    _give_up_capabilities()
    libc.prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)  # changing credentials cleared this setting


def _take_namespaces() -> None:
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_NEW_USER | _OWN) == 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    else:  # a privileged process, such as root in a chroot, needs no user namespace; it drops its rights later
        check(libc.unshare(_OWN), "a namespace of its own")
    mount(None, Path("/"), None, _ALL_BELOW | _PRIVATE)


def hand_on(built: Path, folder: Path) -> None:
    """Move the cache files that an ended answer wrote in `built` to the folder where it will run again."""
    written = built / _UPPER
    if written.is_dir() and not written.is_symlink():
        written.rename(folder / _UPPER)


def written_to_cache(cell: Cell, path: Path) -> Path:
    """Return the real path of a file that the process saw in its cache; the same path if others wrote it."""
    if not path.is_relative_to(cell.cache):
        return path
    own = cell.folder / _UPPER / path.relative_to(cell.cache)
    return own if own.is_file() and own.resolve().is_relative_to(cell.folder.resolve()) else path


def private_folder() -> Path:
    """Return the folder for all judgements of this user; raise InputError if others can access it."""
    folder = Path(tempfile.gettempdir(), f"opbridge-judgements-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise InputError(f"{folder} is not yours alone", hint="remove it, or name another place: TMPDIR=FOLDER")
    return folder


def _end_rights_to_write(allowed: Iterable[Path]) -> None:
    version = libc.syscall(_CREATE_RULESET, None, 0, _VERSION_OF_LANDLOCK)
    check(version, "Landlock")
    rights = _WRITING | sum(right for since, right in _SINCE if version >= since)
    attributes = struct.pack("<QQQ", rights, 0, _SCOPES if version >= 6 else 0)
    ruleset = libc.syscall(_CREATE_RULESET, attributes, 24 if version >= 6 else 8, 0)
    check(ruleset, "Landlock")
    for path in allowed:
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("<Qi", rights, folder)
        check(libc.syscall(_ADD_RULE, ruleset, _BENEATH, rule, 0), f"Landlock for {path}")
        os.close(folder)
    check(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no new privileges")
    check(libc.syscall(_RESTRICT, ruleset, 0), "Landlock")
    os.close(ruleset)


def _give_up_capabilities() -> None:
    header, none = struct.pack("<Ii", _CAPABILITIES_OF_64_BITS, 0), bytes(24)
    check(libc.syscall(_SET_CAPABILITIES, header, none), "to give up its capabilities")
