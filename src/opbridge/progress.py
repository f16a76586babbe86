"""What a person should know while they wait: on a terminal it is said, in a log it stands among the other steps."""

from __future__ import annotations

import sys


def announce(what: str, seconds: int) -> None:
    line = f"{what} (about {seconds} s) ..."
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"opbridge: {line}", file=sys.stderr, flush=True)
        return
    import logging

    logging.getLogger("opbridge").info(line)


def show(what: str) -> None:
    """On a terminal, one line that the next takes the place of; nothing clears it."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"\r\033[K{what}", end="", file=sys.stderr, flush=True)
