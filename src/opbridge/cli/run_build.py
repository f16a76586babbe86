"""opbridge run-build: run the unmodified build of a project that uses torch.utils.cpp_extension with opbridge."""

from __future__ import annotations

import argparse
import os
import sys

from opbridge.authoring.compat.replaced_cpp_extension import environment
from opbridge.base.errors import InputError
from opbridge.cli.replace_process import become


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge run-build`."""
    parser.add_argument(
        "command",
        nargs=argparse.REMAINDER,
        metavar="COMMAND",
        help="the build command, as in pip install . or setup.py",
    )


def run(options: argparse.Namespace) -> int:
    """Replace this process by the build command, in an environment that makes it use opbridge."""
    words = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not words:
        raise InputError("run-build needs what to run", hint="as in: opbridge run-build pip install .")
    if words[0] == "pip":
        # The environment may lack a pip script, and another one on PATH would build for another Python.
        words = [sys.executable, "-m", *words]
    return become(words, environment(os.environ))
