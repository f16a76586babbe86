"""Count the sources of one library as their compilations begin, and stop the rest once one cannot compile."""

from __future__ import annotations

import threading
from collections.abc import Callable


class GivenUpError(Exception):
    """Raised when a source's turn comes after another source has failed for good."""


class Turns:
    """Thread-safe progress over the sources of one library."""

    def __init__(self, sources: int, progress: Callable[[str], None]) -> None:
        self._sources = sources
        self._progress = progress
        self._begun: set[str] = set()
        self._guard = threading.Lock()
        self.given_up = False

    def come(self, about: str) -> None:
        """Report that a source starts compiling, with its position.

        Raises:
            GivenUpError: Another source has failed for good.
        """
        with self._guard:
            if self.given_up:
                raise GivenUpError
            self._begun.add(about)
            position = f" ({len(self._begun)} of {self._sources})" if self._sources > 1 else ""
        self._progress(f"{about}{position}")

    def end(self, about: str) -> None:
        """Count a source that may never have started to compile, because its object was cached."""
        with self._guard:
            self._begun.add(about)

    def give_up(self) -> None:
        """Let running compilations end and prevent new ones from starting."""
        with self._guard:
            self.given_up = True
