"""Check the files of an entry against their digests, and read a large one once until the machine starts again.

A precompiled header has hundreds of megabytes, and every process that compiles with it would read them.  A file next to
it says in which state it was found intact: its size, times and inode.  A write changes the time of the inode, which no
program can set.  Only a crash of the machine can lose what was written before, so another start counts anew.
"""

from __future__ import annotations

import functools
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import cast

from opbridge.base.safe_open import read_file
from opbridge.build.cache.dependencies import UNKNOWN_STAMP, digest_of, is_large, stamp

NAME = "seen.json"
"""The name of that file, which is not a result of a build."""

_START = Path("/proc/sys/kernel/random/boot_id")


def digests_of(entry: Path) -> dict[str, str]:
    """Return the digests that the files of an entry had when it was made."""
    return cast("dict[str, str]", json.loads(read_file(entry / "entry.json"))["files"])


def is_intact(entry: Path) -> bool:
    """Return whether all files of an entry are there and have their digests."""
    try:
        return _have(entry, digests_of(entry))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def _have(entry: Path, digests: Mapping[str, str]) -> bool:
    states = {name: state for name, digest in digests.items() if (state := _state(f"{entry}/{name}", digest))}
    now = {"start": _start(), "files": states} if states and _start() else None
    seen = now is not None and _seen(entry) == now
    if not all(
        digest_of(f"{entry}/{name}") == digest for name, digest in digests.items() if not seen or name not in states
    ):
        return False
    if now is not None and not seen:
        _remember(entry, json.dumps(now))
    return True


def _state(path: str, digest: str) -> list[object] | None:
    """Return what a large file is known by; None for a small one, and for one that has just changed."""
    status = os.stat(path)
    times = stamp(status, time.time_ns())
    return [digest, status.st_ino, *times] if is_large(status) and times != UNKNOWN_STAMP else None


@functools.cache
def _start() -> str:
    """Return the name of this start of the machine; empty where the machine has none."""
    with suppress(OSError, ValueError):
        return read_file(_START).decode("ascii").strip()
    return ""


def _seen(entry: Path) -> object:
    with suppress(OSError, ValueError, RecursionError):
        return json.loads(read_file(entry / NAME))
    return None


def _remember(entry: Path, text: str) -> None:
    temporary = entry / f"{NAME}.{os.urandom(6).hex()}"
    with suppress(OSError):  # the cache may not be writable
        temporary.write_text(text, encoding="ascii")
        temporary.rename(entry / NAME)
