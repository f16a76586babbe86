"""The twins' libraries as opbridge's own wheel brings them, so that its users' machines compile none of them.

They fit every processor.  The build of a wheel writes them by tools/ship_twins.py; a clone, whose sources change, has
none, and the cache keeps what is built there.
"""

from __future__ import annotations

from pathlib import Path

from opbridge.toolchains.builder import build
from opbridge.toolchains.model import BuildRequest

FOLDER = Path(__file__).parents[1] / "twins" / "built"


def library(request: BuildRequest) -> Path:
    """The one that was brought, or else is built where the cache of this process's environment has not got it."""
    brought = FOLDER / request.output
    return brought if brought.is_file() else build(request).path
