"""Confine an answer: no network, no writes outside its folder, no view of the reference, no harm to other processes.

Linux enforces this. Namespaces hide the files of the reference and make writes to the cache private. Landlock
removes the rights to write elsewhere, to trace and to signal.
"""

from __future__ import annotations

import ctypes
import os
import signal
import stat
import struct
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from opbridge.base.errors import InputError, UnsupportedError

_NEW_MOUNTS, _NEW_USER, _NEW_NETWORK, _NEW_IPC = 0x00020000, 0x10000000, 0x40000000, 0x08000000
_OWN = _NEW_MOUNTS | _NEW_NETWORK | _NEW_IPC
_BIND, _PRIVATE, _ALL_BELOW = 0x1000, 0x40000, 0x4000
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

_UPPER = "cache"
"""The subfolder for what an answer writes to the cache."""

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Cell:
    """The confinement of an answer."""

    folder: Path
    """The folder that it may write to."""
    cache: Path
    """The cache: it can be read, but writes are private."""
    hidden: tuple[Path, ...] = ()
    """Files and folders that appear empty."""
    among: Path | None = None
    """A folder above its own, whose other contents are hidden, such as files of concurrent answers and references."""


def enter(cell: Cell) -> None:
    """Confine the calling process and all processes that it will start.

    Call this before the process has a second thread.

    Raises:
        UnsupportedError: This machine cannot confine a process.
    """
    user, group = os.getuid(), os.getgid()
    if _libc.unshare(_NEW_USER | _OWN) == 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    else:  # a privileged process, such as root in a chroot, needs no user namespace; it drops its rights below
        _check(_libc.unshare(_OWN), "a namespace of its own")
    _mount(None, "/", None, _ALL_BELOW | _PRIVATE)
    if cell.among is not None:
        _leave_alone(cell.folder, cell.among)
    upper, work = cell.folder / _UPPER, cell.folder / "cache-work"
    upper.mkdir(mode=0o700, exist_ok=True)
    work.mkdir(mode=0o700)
    _mount("overlay", cell.cache, "overlay", 0, f"lowerdir={cell.cache},upperdir={upper},workdir={work},userxattr")
    for path in filter(Path.exists, cell.hidden):
        if path.is_dir():
            _mount("tmpfs", path, "tmpfs", 0, "size=4k,mode=700")
        else:
            _mount("/dev/null", path, None, _BIND)
    _end_rights_to_write((cell.folder, cell.cache, Path("/dev")))
    _give_up_capabilities()
    _libc.prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)  # changing credentials cleared this setting


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


def _leave_alone(folder: Path, among: Path) -> None:
    own = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    _mount("tmpfs", among, "tmpfs", 0, "size=64k,mode=700")
    folder.mkdir(parents=True, mode=0o700)
    _mount(f"/proc/self/fd/{own}", folder, None, _BIND)
    os.close(own)


def private_folder() -> Path:
    """Return the folder for all judgements of this user; raise InputError if others can access it."""
    folder = Path(tempfile.gettempdir(), f"opbridge-judgements-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise InputError(f"{folder} is not yours alone", hint="remove it, or name another place: TMPDIR=FOLDER")
    return folder


def _mount(source: str | None, target: str | Path, kind: str | None, flags: int, options: str = "") -> None:
    words = [word if word is None else os.fsencode(word) for word in (source, str(target), kind)]
    done = _libc.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), options.encode() or None)
    _check(done, f"{target} of its own")


def _end_rights_to_write(allowed: Iterable[Path]) -> None:
    version = _libc.syscall(_CREATE_RULESET, None, 0, _VERSION_OF_LANDLOCK)
    _check(version, "Landlock")
    rights = _WRITING | sum(right for since, right in _SINCE if version >= since)
    attributes = struct.pack("<QQQ", rights, 0, _SCOPES if version >= 6 else 0)
    ruleset = _libc.syscall(_CREATE_RULESET, attributes, 24 if version >= 6 else 8, 0)
    _check(ruleset, "Landlock")
    for path in allowed:
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("<Qi", rights, folder)
        _check(_libc.syscall(_ADD_RULE, ruleset, _BENEATH, rule, 0), f"Landlock for {path}")
        os.close(folder)
    _check(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no new privileges")
    _check(_libc.syscall(_RESTRICT, ruleset, 0), "Landlock")
    os.close(ruleset)


def _give_up_capabilities() -> None:
    header, none = struct.pack("<Ii", _CAPABILITIES_OF_64_BITS, 0), bytes(24)
    _check(_libc.syscall(_SET_CAPABILITIES, header, none), "to give up its capabilities")


def _check(result: int, what: str) -> None:
    if result < 0:
        reason = os.strerror(ctypes.get_errno())
        raise UnsupportedError(
            f"an answer cannot be confined on this machine, which refuses {what}: {reason}\n"
            "  judge needs Linux 5.13 or newer with Landlock and with namespaces for users "
            "(sysctl kernel.unprivileged_userns_clone=1; docker run --security-opt seccomp=unconfined)"
        )
