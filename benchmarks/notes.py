"""Why a row misses its reach, as profiling found: by the row's name and its peer's."""

from __future__ import annotations

NOTES: dict[tuple[str, str], str] = {}
