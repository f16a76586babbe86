"""opbridge twin run: run a program for NPUs or GPUs with replacements for torch_npu, CANN and `cuda`."""

from __future__ import annotations

import argparse
import os
import sys

from opbridge.base.errors import InputError
from opbridge.cli.replace_process import become


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge twin run`."""
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="COMMAND", help="a Python script or any command, and its arguments"
    )


def run(options: argparse.Namespace) -> int:
    """Replace this process by the program, in an environment with the replacements unless torch_npu works here."""
    from opbridge.build.cache import Cache
    from opbridge.twins.ascend.cann_folder import write
    from opbridge.twins.ascend.stand_in_package import environment, real_one_works

    words = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not words:
        raise InputError("twin run needs what to run", hint="as in: opbridge twin run test.py")
    if real_one_works():
        print("opbridge: torch_npu works here and is not replaced", file=sys.stderr, flush=True)
        variables = dict(os.environ)
    else:
        variables = environment(os.environ, write(Cache().root / "cann"))
    return become(words, variables)
