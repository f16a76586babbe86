"""Give each judgement a folder of its own, and remove those that killed runs have left."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from opbridge.analysis.judge.process.confinement import private_folder
from opbridge.base.remove_folder import remove_tree, temporary_folder

_LOCK = ".lock"
"""The suffix of the file next to a folder that its owner keeps locked while it lives."""


@contextmanager
def working_folder() -> Iterator[Path]:
    """Create a folder, yield it and remove it; raise InputError if the place for it is not this user's alone.

    What runs that ended early have left there is removed first: nobody holds their locks any more.
    """
    place = private_folder()
    _remove_leftovers(place)
    with temporary_folder(place) as folder:
        lock = folder.with_name(folder.name + _LOCK)
        with open(folder / "lock", "w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            os.rename(folder / "lock", lock)  # others see it locked only
            try:
                yield folder
            finally:
                lock.unlink(missing_ok=True)


def _remove_leftovers(place: Path) -> None:
    for lock in place.glob(f"*{_LOCK}"):
        # Two runs may see the same leftover, and one removes what the other reads.
        with suppress(OSError), open(lock) as found:
            fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(found.fileno()).st_nlink:
                remove_tree(lock.with_name(lock.name.removesuffix(_LOCK)))
                lock.unlink(missing_ok=True)
