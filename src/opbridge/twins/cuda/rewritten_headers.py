"""Rewrite the headers of installed libraries that contain device code, on first use, into folders of the cache.

The compiler of the CUDA twin uses these copies instead of the installed headers.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from opbridge.base.remove_folder import remove_tree
from opbridge.build.cache import Cache
from opbridge.build.cache.filesystem import disk_explained
from opbridge.build.toolchains import stamped_folder
from opbridge.twins.common import toolchain as rewriting
from opbridge.twins.cuda import cccl, torch_extension_sources

_MONTH = 30 * 24 * 3600
"""In seconds."""


@cache
def of_cccl() -> tuple[str, ...]:
    """Return flags that put the rewritten CCCL headers before the installed ones; empty if CCCL is not installed.

    A command with these flags that fails must be passed to `Cccl.has_more`, which rewrites what it lacked.
    """
    headers = cccl.find()
    if headers is None:
        return ()
    return (cccl.MARK, f"-isystem{_cccl_folder(headers)}", f"-isystem{headers}")


def rewrite_all_of_cccl() -> None:
    """Rewrite every CCCL header now, so that no compilation has to."""
    if headers := cccl.find():
        _rewrite(cccl.names_in(headers), headers, _cccl_folder(headers))


def rewrite_those_of(source: Path) -> None:
    """Rewrite the CCCL headers that a source names, for editors, which read the headers without compiling."""
    if headers := cccl.find():
        text = source.read_text(encoding="utf-8", errors="surrogateescape")
        _rewrite(cccl.included_by(text, "", headers), headers, _cccl_folder(headers))


class Cccl:
    """The CCCL headers that one source has needed so far."""

    def __init__(self) -> None:
        self._met: set[str] = set()

    def has_more(self, said: str) -> bool:
        """Rewrite the headers that a compiler lacked, by its messages; return whether it must run again."""
        headers = cccl.find() if cccl.STOP in said else None
        if headers is None:
            return False
        folder = _cccl_folder(headers)
        more = cccl.stops_met(said, folder) - self._met
        self._met |= more
        _rewrite(more, headers, folder)
        return bool(more)


def _rewrite(names: Iterable[str], headers: Path, folder: Path) -> None:
    cache = Cache()
    with cache.step("rewriting headers of CUB, Thrust and libcu++ for the CUDA twin"), disk_explained(cache.root):
        cccl.rewrite_headers(names, headers, folder)


def _cccl_folder(headers: Path) -> Path:
    """Return the folder of one version of CCCL and opbridge: versions in use at a time must not share files."""
    stamp = _stamp(str(headers))
    folder = Cache().root / f"cccl_{stamp[:12]}"
    if not folder.exists():
        _remove_unused(folder.parent)
    made = stamped_folder.write(folder, stamp, lambda new: cccl.write_stops(headers, new))
    with suppress(OSError):  # a cache that only another user may write
        os.utime(made)  # as used today
    return made


def _remove_unused(root: Path) -> None:
    """Remove the folders that no program has used for a month, as those of versions that are gone."""
    for folder in root.glob("cccl*"):
        with suppress(OSError):  # another process removes it, or only another user may
            if time.time() - folder.stat().st_mtime > _MONTH:
                remove_tree(folder)


@cache
def of_torch(install: Path, identity: tuple[str, ...]) -> tuple[str, ...]:
    """Return the flag that puts the rewritten headers of a PyTorch before its own, which the build adds in any case."""
    stamp = _stamp(*identity, str(cccl.find()))
    name = f"torch_{hashlib.sha256(str(install).encode()).hexdigest()[:12]}"
    headers = install / "include"
    folder = stamped_folder.write(Cache().root / name, stamp, lambda new: torch_extension_sources.write(headers, new))
    return (f"-isystem{folder}",)


def _stamp(*facts: str) -> str:
    return hashlib.sha256("\0".join((*facts, rewriting.state("cuda"))).encode()).hexdigest()
