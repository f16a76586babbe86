"""Writing what a command was asked for."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from opbridge.errors import InputError


def copy_atomically(source: Path, target: Path) -> None:
    """Puts a copy at `target` in one step: a program that has the old file open or loaded keeps it."""
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
