"""Check the output files of a command before it starts."""

from __future__ import annotations

from pathlib import Path

from opbridge.base.errors import InputError


def require_writable(*paths: Path | None) -> None:
    """Raise an InputError if a file cannot be written, before the command spends minutes on its contents."""
    for path in paths:
        if path is not None:
            _require(path)


def _require(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{path} is a folder; expected a file", hint=f"name one in it: {path / 'NAME'}")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder} to write {path.name} to", hint=f"mkdir -p {folder}")
    is_new = not path.exists()
    try:
        path.open("a").close()
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}", hint="name another file") from error
    if is_new:
        path.unlink()
