"""opbridge twin run: a program for NPUs or GPUs, run with stand-ins for torch_npu, CANN and `cuda`, for it alone."""

from __future__ import annotations

import argparse
import os
import sys

from opbridge.cli.becoming import become
from opbridge.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="COMMAND", help="a Python script or any command, and its arguments"
    )


def run(options: argparse.Namespace) -> int:
    from opbridge.cache import Cache
    from opbridge.npu.standing_in import environment, real_one_works
    from opbridge.toolchains.ascend_cann import write

    words = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not words:
        raise InputError("twin run needs what to run", hint="as in: opbridge twin run test.py")
    if real_one_works():
        print("opbridge: torch_npu works here, and nothing stands in for it", file=sys.stderr, flush=True)
        variables = dict(os.environ)
    else:
        variables = environment(os.environ, write(Cache().root / "cann"))
    return become(words, variables)
