"""The ends of checks that do not pass, and words that all checks use."""

from __future__ import annotations

from opbridge.base.errors import OpbridgeError


class Failure(Exception):
    """The operator is wrong; the text says how, and what to do."""


class Skip(Exception):
    """There is nothing to check, and why."""


class Unchecked(Exception):
    """The operator ran, and there was nothing to compare its results with."""


NOTHING_TO_COMPARE = "nothing to compare with; name a reference: --reference aten::NAME or module:function"
REFUSALS = (OpbridgeError, TypeError, ValueError, IndexError, RuntimeError)
"""The errors of calls that an operator or its framework does not accept; of PyTorch an axis that is not there."""


def counted(count: int, what: str) -> str:
    """Return a count with its noun, in the plural unless it is one."""
    return f"{count} {what}" + ("" if count == 1 else "s")


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or the error's type if the message is empty."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
