"""Give a process a root folder of its own: read-only views of what building and running need, and nothing else."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from opbridge.analysis.judge.process.linux_calls import check, libc
from opbridge.base.safe_open import real_path

_BIND, _RECURSIVE, _NO_SUID, _NO_DEVICES, _DETACH = 0x1000, 0x4000, 2, 4, 2
_SET_MOUNT_ATTRIBUTES, _READ_ONLY, _BELOW_TOO, _HERE = 442, 1, 0x8000, -100
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}.get(os.uname().machine, -1)
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix", "/gnu", "/proc", "/sys/devices/system")
_SETTINGS = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "passwd", "group")
"""What compilers, loaders and Python read in /etc; none of it is secret."""
_DEVICES = ("null", "zero", "full", "random", "urandom")
_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}
_SHARED_MEMORY = "size=256m,mode=1777"


class OwnRoot:
    """A root folder in the making; call `enter` when everything is in it."""

    def __init__(self, place: Path) -> None:
        """Begin with an empty folder in memory, mounted on the folder `place`."""
        self._root = place
        mount("tmpfs", place, "tmpfs", _NO_SUID | _NO_DEVICES, "size=4m,mode=755")

    def show_what_programs_need(self) -> None:
        """Show the system, Python, opbridge and the compilers, to read and execute."""
        for path in _needed():
            self.show(path)
        self._make_devices()

    def show(self, path: Path) -> None:
        """Show a file or folder at its own path, to read and execute; do nothing if it does not exist."""
        real = real_path(path)
        if not real.exists():
            return
        if not self._inside(real).exists():
            self._bind(real)
            _make_read_only(self._inside(real))
        self._link(path)

    def _link(self, path: Path) -> None:
        """Make the links that lead from a path to what it stands for."""
        for part in (*reversed(path.parents), path):
            if part.is_symlink():
                if not os.path.lexists(self._inside(part)):
                    self._inside(part.parent).mkdir(parents=True, exist_ok=True)
                    self._inside(part).symlink_to(os.readlink(part))
                self._link(Path(os.path.normpath(part.parent / os.readlink(part)), path.relative_to(part)))
                return

    def show_writable(self, folder: Path) -> None:
        """Show a folder at its own path, to write to."""
        self._bind(folder, _BIND)

    def lay_over(self, folder: Path, upper: Path, work: Path) -> None:
        """Show a folder at its own path; what is written there goes to `upper`."""
        self._inside(folder).mkdir(parents=True, exist_ok=True)
        options = f"lowerdir={folder},upperdir={upper},workdir={work},userxattr"
        mount("overlay", self._inside(folder), "overlay", 0, options)

    def hide(self, path: Path) -> None:
        """Let a file or folder appear empty, if it is shown."""
        inside = self._inside(path)
        if inside.is_dir():
            mount("tmpfs", inside, "tmpfs", 0, "size=4k,mode=700")
        elif inside.exists():
            mount("/dev/null", inside, None, _BIND)

    def enter(self) -> None:
        """Make this the root of the calling process; nothing leads back."""
        _make_read_only(self._root, below_too=False)
        os.chdir(self._root)
        # Without a folder for the old root, the new one lies over it until that is taken away.
        if libc.syscall(_PIVOT_ROOT, b".", b".") == 0:
            check(libc.umount2(b".", _DETACH), "to leave its root")
        else:  # in a chroot, nothing can be pivoted; the rights to leave it again are given up afterwards
            check(libc.chroot(b"."), "a root of its own")
        os.chdir("/")

    def _make_devices(self) -> None:
        devices = self._inside(Path("/dev"))
        devices.mkdir()
        for name in _DEVICES:
            (devices / name).touch()
            mount(f"/dev/{name}", devices / name, None, _BIND)
        for name, target in _LINKS.items():
            (devices / name).symlink_to(target)
        (devices / "shm").mkdir()
        mount("tmpfs", devices / "shm", "tmpfs", _NO_SUID | _NO_DEVICES, _SHARED_MEMORY)
        self._inside(Path("/tmp")).mkdir(exist_ok=True)

    def _bind(self, path: Path, flags: int = _BIND | _RECURSIVE) -> None:
        inside = self._inside(path)
        if path.is_dir():
            inside.mkdir(parents=True, exist_ok=True)
        else:
            inside.parent.mkdir(parents=True, exist_ok=True)
            inside.touch()
        mount(path, inside, None, flags)

    def _inside(self, path: Path) -> Path:
        return self._root / path.relative_to("/")


def _needed() -> Iterable[Path]:
    """Return what is to be seen, parents before what lies in them."""
    own = Path(__file__).resolve().parents[3]
    variables = (os.environ.get(name, "") for name in ("PYTHONPATH", "PATH", "LD_LIBRARY_PATH"))
    places = [entry for value in variables for entry in value.split(os.pathsep) if os.path.isabs(entry)]
    interpreter = os.path.dirname(os.path.realpath(sys.executable))
    python = (sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib"), interpreter)
    packages = [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]
    all_paths = {*_SYSTEM, *(f"/etc/{name}" for name in _SETTINGS), *places, *python, *packages, str(own)}
    return sorted((Path(os.path.normpath(path)) for path in all_paths if path not in ("", "/")), key=real_path)


def mount(source: str | Path | None, target: Path, kind: str | None, flags: int, options: str = "") -> None:
    """Mount a file system, or bind a file or folder; raise UnsupportedError if the machine refuses it."""
    words = [word if word is None else os.fsencode(word) for word in (source, target, kind)]
    done = libc.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), options.encode() or None)
    check(done, f"{target} of its own")


def _make_read_only(path: Path, *, below_too: bool = True) -> None:
    attributes = struct.pack("<QQQQ", _READ_ONLY, 0, 0, 0)
    flags = _BELOW_TOO if below_too else 0
    done = libc.syscall(_SET_MOUNT_ATTRIBUTES, _HERE, os.fsencode(path), flags, attributes, len(attributes))
    check(done, f"{path} to read only")
