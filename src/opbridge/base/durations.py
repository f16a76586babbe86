"""Remember how long steps took, in one small file of a folder: the next time, a message announces them."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

FILE = "durations.json"
_MOST = 500
"""Steps that are remembered, the last ones."""


def kept(folder: Path, what: str) -> float | None:
    """Return how many seconds a step took when it last ended well, if that is known."""
    seconds = _read(folder).get(what)
    return seconds if isinstance(seconds, (int, float)) else None


def keep(folder: Path, what: str, seconds: float) -> None:
    """Remember the seconds of a step.  A folder that takes no file keeps none."""
    known = {name: value for name, value in _read(folder).items() if name != what}
    latest = dict([*known.items(), (what, round(seconds, 1))][-_MOST:])
    temporary = folder / f"{FILE}.{os.getpid()}"
    with suppress(OSError):
        try:
            temporary.write_text(json.dumps(latest), encoding="ascii")
            temporary.replace(folder / FILE)
        finally:
            temporary.unlink(missing_ok=True)


def _read(folder: Path) -> dict[str, object]:
    with suppress(OSError, ValueError):
        found = json.loads((folder / FILE).read_text(encoding="ascii"))
        return found if isinstance(found, dict) else {}
    return {}
