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
