"""One fact about a machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One fact about the machine."""

    what: str
    found: str | None
    """The version or place that was found, or None if it is missing."""
    cure: str = ""
    required: bool = True

    @property
    def is_wrong(self) -> bool:
        """Whether a required part is missing."""
        return self.found is None and self.required
