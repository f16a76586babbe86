"""The twins' libraries as included in opbridge's wheels, so that users need not compile them.

They run on every processor of the architecture. The wheel build writes them with tools/ship_twins.py. A clone
has none, because its sources change; the libraries built there are kept in the cache.
"""

from __future__ import annotations

from pathlib import Path

from opbridge.build.toolchains.builder import build
from opbridge.build.toolchains.interface import BuildRequest

FOLDER = Path(__file__).parents[2] / "twins" / "built"


def library(request: BuildRequest) -> Path:
    """Return the library from the wheel, else from the cache, building it if necessary."""
    brought = FOLDER / request.output
    return brought if brought.is_file() else build(request).path
