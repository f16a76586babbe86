"""Copy from a shared cache into a private folder: only regular files whose size and content match the seal."""

from __future__ import annotations

import errno
import os
from contextlib import ExitStack
from pathlib import Path

from opbridge.base.safe_open import open_file, opened_folder
from opbridge.build.cache.dependencies import digest_of
from opbridge.build.cache.filesystem import files_below
from opbridge.build.cache.shared.seals import Seal, SealedFile

_PIECE_BYTES = 1 << 20


def copy_files(result: int, seal: Seal, folder: Path) -> None:
    """Copy the files of a result, then check the copies, which no other user can change.

    Raises:
        OSError: A file is missing or damaged; all copies are removed then.
    """
    try:
        with opened_folder("files", result) as files:
            for file in seal.files:
                _copy(files, file, folder / file.name)
        for file in seal.files:
            if digest_of(folder / file.name) != file.digest:
                raise _damaged(file)
    except OSError:
        for path in files_below(folder):
            path.unlink()
        raise


def are_whole(files: Path, seal: Seal) -> bool:
    """Return whether all files of a result exist and match the seal."""
    try:
        return all(digest_of(files / file.name) == file.digest for file in seal.files)
    except OSError:
        return False


def _copy(files: int, file: SealedFile, target: Path) -> None:
    *levels, name = file.name.split("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as opened:
        for level in levels:
            files = opened.enter_context(opened_folder(level, files))
        source = opened.enter_context(open(open_file(name, files, follow=False), "rb", buffering=0))
        copy = opened.enter_context(target.open("wb"))
        if os.fstat(source.fileno()).st_size != file.size:
            raise _damaged(file)
        left = file.size
        # Read no more than the recorded size: the file may keep growing while it is read.
        while left and (piece := source.read(min(left, _PIECE_BYTES))):
            copy.write(piece)
            left -= len(piece)


def _damaged(file: SealedFile) -> OSError:
    return OSError(errno.EINVAL, f"{file.name} is damaged")
