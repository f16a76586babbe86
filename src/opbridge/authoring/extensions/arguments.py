"""The argument forms of PyTorch's functions: one string or path, or several."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path

from opbridge.base.errors import CallError
from opbridge.base.names import is_cpp_name

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
Texts = str | Iterable[str]


def check_name(name: object) -> None:
    """Check that a name is valid in C++ and in Python.

    Raises:
        CallError: It is not.
    """
    if not isinstance(name, str) or not is_cpp_name(name) or "::" in name:
        raise CallError(f"extension() expects a name that C++ and Python take, such as 'lltm', got {name!r}")


def words(argument: str, value: object) -> tuple[str, ...]:
    """Return one string or several as a tuple; None is empty.

    Raises:
        CallError: The value is neither.
    """
    if value is None:
        return ()
    several = (value,) if isinstance(value, str) else value
    if isinstance(several, Iterable):
        found = tuple(several)
        if all(isinstance(word, str) for word in found):
            return found
    raise CallError(f"{argument}: expected a string or a list of strings, got {value!r:.80}")


def flags(argument: str, value: object) -> tuple[str, ...]:
    """Split flags as a shell does, like PyTorch: one text may hold several flags, or none."""
    try:
        return tuple(flag for word in words(argument, value) for flag in shlex.split(word))
    except ValueError as error:
        raise CallError(f"{argument}: {value!r:.80} is not a list of flags, as a shell reads it: {error}") from None


def paths(argument: str, value: object) -> tuple[Path, ...]:
    """Return one path or several as a tuple; None is empty."""
    if isinstance(value, os.PathLike):
        value = (value,)
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        value = [os.fspath(path) if isinstance(path, os.PathLike) else path for path in value]
    return tuple(map(Path, words(argument, value)))
