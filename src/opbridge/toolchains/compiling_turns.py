"""The sources of one library, whose turns to be compiled come one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable


class GivenUpError(Exception):
    """The turn of a source that is not compiled any more, because another cannot be."""


class Turns:
    def __init__(self, sources: int, progress: Callable[[str], None]) -> None:
        self._sources = sources
        self._progress = progress
        self._begun: set[str] = set()
        self._guard = threading.Lock()
        self.given_up = False

    def come(self, about: str) -> None:
        with self._guard:
            if self.given_up:
                raise GivenUpError
            self._begun.add(about)
            position = f" ({len(self._begun)} of {self._sources})" if self._sources > 1 else ""
        self._progress(f"{about}{position}")

    def end(self, about: str) -> None:
        """Of one whose object may have been there, so that its turn never came."""
        with self._guard:
            self._begun.add(about)

    def give_up(self) -> None:
        """Lets those that run end, and no other begin."""
        with self._guard:
            self.given_up = True
