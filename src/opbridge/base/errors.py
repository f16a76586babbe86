"""All exceptions that users can see, each with the exit code of the command line.

A message says what was expected, what was found, where, and what to do next.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import wraps
from itertools import islice
from typing import ParamSpec, TypeVar

from opbridge.base.excerpts import behind, caret, shown
from opbridge.base.tracebacks import FULL, hide_from_pytest, rendered, users_part

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_COMPARED = 10_000
"""The maximum number of names to compare a misspelled name with, because a large library has many more."""


class OpbridgeError(Exception):
    """The base of every error opbridge raises."""

    exit_code = 2

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        hide_from_pytest(OpbridgeError)

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows for the exception."""
        return rendered(self)


@dataclass(frozen=True)
class Location:
    """A place in a text the user wrote; lines and columns count from 1."""

    file: str
    line: int
    column: int
    source: str = ""
    """The text of the line, for the caret below it."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def shifted(self, columns: int) -> Location:
        """Return the location some columns to the right."""
        return replace(self, column=self.column + columns)

    def excerpt(self) -> str:
        """Return the line with a caret below it, after a line break; empty if the line is unknown."""
        if not self.source:
            return ""
        column = behind(0, self.source[: self.column - 1]) + 1
        return f"\n  {shown(self.source)}\n  {caret(self.source, column)}"


@dataclass(frozen=True)
class TextLocation(Location):
    """A place in a text that is not in a file; `file` describes the text."""

    def __str__(self) -> str:
        return self.file


class InputError(OpbridgeError):
    """Something the user wrote is wrong at a known place."""

    def __init__(self, message: str, where: Location | None = None, hint: str = "") -> None:
        self.message = message
        self.where = where
        self.hint = hint
        text = f"{where}: {message}{where.excerpt()}" if where else message
        super().__init__(f"{text}\n  {hint}" if hint else text)


class SchemaError(InputError):
    """A schema does not follow the grammar of PyTorch's function schemas."""


class RuleError(InputError):
    """A rule (out, derivatives, batch, shard, flops) does not parse or does not fit its schema."""


class ManifestError(InputError):
    """An ops.yaml is invalid."""


class CallError(OpbridgeError, TypeError, ValueError):
    """An operator was called with arguments it does not take."""


class NoSuchOperatorError(CallError, AttributeError):
    """A library has no operator of this name; as an AttributeError, it works with hasattr and getattr."""


class KernelError(OpbridgeError, RuntimeError):
    """A kernel ran and failed, or cannot be used for this call."""


class UnsupportedError(OpbridgeError, NotImplementedError):
    """A request is not supported; the message says why and what to do instead."""


class NoSuchFrameworkError(UnsupportedError, AttributeError):
    """There is no view of operators for this framework."""


class BuildError(OpbridgeError, RuntimeError):
    """A compiler or linker rejects the user's source; also a RuntimeError, as torch.utils.cpp_extension raises."""

    exit_code = 3


class ToolchainError(OpbridgeError):
    """A compiler, header or framework is missing or does not work."""

    exit_code = 3


class CacheError(OpbridgeError):
    """The cache folder cannot be used safely."""

    exit_code = 3


class DiskFullError(CacheError):
    """There is no space for a result, neither in the cache nor in the folder for temporary files."""


def for_users(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorate a function that users call: tracebacks of its errors show the user's frames alone."""

    @wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except OpbridgeError as error:
            if os.environ.get(FULL) == "full":
                raise
            told = error
        try:
            raise told.with_traceback(users_part(told.__traceback__))
        finally:
            del told  # its traceback refers to this frame

    return call


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `did you mean 'x'?` for the most similar name, or an empty string."""
    near = difflib.get_close_matches(word, list(islice(known, _COMPARED)), n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else ""


def _say_where_programs_find_them() -> None:
    """Name the module that programs import errors from in tracebacks and pickles."""
    for item in [*globals().values()]:
        if isinstance(item, type) and issubclass(item, OpbridgeError):
            item.__module__ = "opbridge.errors"


_say_where_programs_find_them()
