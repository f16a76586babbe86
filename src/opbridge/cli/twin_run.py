"""opbridge twin run: a program for NPUs, run with stand-ins for torch_npu and CANN in front, for that process only."""

from __future__ import annotations

import argparse
import os
import sys

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
    command = [sys.executable, *words] if words[0].endswith(".py") else words
    if real_one_works():
        print("opbridge: torch_npu works here, and nothing stands in for it", file=sys.stderr, flush=True)
        variables = dict(os.environ)
    else:
        variables = environment(os.environ, write(Cache().root / "cann"))
    return _become(command, variables)


def _become(command: list[str], variables: dict[str, str]) -> int:
    """The command takes the place of this process: its signals, its terminal and its exit code are its own."""
    sys.stdout.flush()
    try:
        os.execvpe(command[0], command, variables)
    except OSError as error:
        raise InputError(f"cannot run {command[0]}: {error.strerror}") from None
