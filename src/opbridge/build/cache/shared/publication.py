"""Write a result into a shared cache under a name that readers ignore, then publish it with one rename."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from opbridge.base.safe_open import opened_folder
from opbridge.build.cache.filesystem import remove
from opbridge.build.cache.shared.publisher_keys import SigningKey
from opbridge.build.cache.shared.seals import Seal

_ABANDONED_SECONDS = 24 * 3600


@contextmanager
def make_folder(name: str, within: int, mode: int) -> Iterator[int]:
    """Open a folder, creating it if necessary with this mode regardless of the umask."""
    made = False
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=within)
        made = True
    with opened_folder(name, within) as folder:
        if made:
            os.fchmod(folder, mode)
        yield folder


def write_result(shelf: int, place: Path, entry: Path, seal: Seal, key: SigningKey | None) -> None:
    """Write the files, the seal and the signature of a result, and rename the result to its final name."""
    unfinished = f".{os.urandom(6).hex()}"
    try:
        with make_folder(unfinished, shelf, 0o755) as folder:
            for file in seal.files:
                _write(f"files/{file.name}", folder, (entry / file.name).read_bytes())
            _write("seal", folder, bytes(seal))
            if key:
                _write("signature", folder, key.sign(bytes(seal)))
        os.rename(unfinished, f"{seal.record['entry']}{unfinished}", src_dir_fd=shelf, dst_dir_fd=shelf)
    finally:
        remove(place / unfinished)


def _write(name: str, folder: int, content: bytes) -> None:
    """Write a file that others may read, and flush it to the disk before the rename that publishes it."""
    *levels, last = name.split("/")
    with ExitStack() as opened:
        for level in levels:
            folder = opened.enter_context(make_folder(level, folder, 0o755))
        descriptor = os.open(last, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, dir_fd=folder)
        file = opened.enter_context(open(descriptor, "wb"))
        os.fchmod(descriptor, 0o644)
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def remove_abandoned(place: Path) -> None:
    """Remove unfinished results that are older than a day."""
    for unfinished in place.glob(".*"):
        with suppress(OSError):
            if unfinished.stat().st_mtime < time.time() - _ABANDONED_SECONDS:
                remove(unfinished)
