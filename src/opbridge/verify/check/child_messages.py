"""The messages of a child process: one JSON object a line. Their reader does not trust the child."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

_LONGEST = 16 << 20
"""The most bytes of a message; the longest legitimate ones list the operators of large networks."""


class NonsenseError(Exception):
    """A child wrote something that is not a message."""


def as_line(fields: Mapping[str, object]) -> bytes:
    """Return a message as a line."""
    return (json.dumps(fields) + "\n").encode()


class Lines:
    """Divide what a child writes into messages."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0

    def read(self, written: bytes) -> Iterator[dict[str, object]]:
        """Yield the messages that end in `written`, and keep what follows the last of them.

        Raises:
            NonsenseError: A line is not a JSON object, or too long.
        """
        *ended, begun = written.split(b"\n")
        for part in ended:
            yield self._message(part)
        self._keep(begun)

    def _keep(self, part: bytes) -> None:
        self._parts.append(part)
        self._length += len(part)
        if self._length > _LONGEST:
            raise NonsenseError(f"it writes a message of more than {_LONGEST >> 20} MiB")

    def _message(self, last: bytes) -> dict[str, object]:
        self._keep(last)
        line, self._parts, self._length = b"".join(self._parts), [], 0
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            raise NonsenseError(f"it writes what is not a message: {line[:80]!r}")
        return said
