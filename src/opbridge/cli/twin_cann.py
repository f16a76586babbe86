"""opbridge twin cann: write a folder that Ascend C projects accept as an installed CANN, to run on the CPU."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge twin cann`."""
    parser.add_argument(
        "folder", type=Path, nargs="?", metavar="DIR", help="the folder to write (default: one in the cache)"
    )


def run(options: argparse.Namespace) -> int:
    """Write the folder and print its path; return 0."""
    from opbridge.build.cache import Cache
    from opbridge.twins.ascend.cann_folder import write

    home = write(options.folder or Cache().root / "cann")
    print(f"for a shell: source {home}/set_env.sh")
    print(home)
    return 0
