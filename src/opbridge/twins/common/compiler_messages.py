"""Print what is wrong with a source as compilers do, for programs that read compilers' messages."""

from __future__ import annotations

import sys

from opbridge.base.errors import InputError


def complain(error: InputError) -> None:
    """Print an error, with its place where it has one."""
    where = error.where
    place, excerpt = (f"{where}: ", where.excerpt()) if where else ("", "")
    print(f"{place}error: {error.message}{excerpt}", file=sys.stderr)
