"""opbridge twin nvcc: a replacement for nvcc; its programs run on the CPU with every access checked."""

from __future__ import annotations

import argparse

PREFIX_CHARS = "\0"
"""A prefix that no argument has, so that argparse passes all arguments on."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge twin nvcc`."""
    help_text = (
        "the arguments of nvcc; --home alone prints a folder that replaces an installed CUDA, with bin/nvcc in it"
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT", help=help_text)


def run(options: argparse.Namespace) -> int:
    """Execute an nvcc command line and return the exit code that nvcc would return."""
    from opbridge.build.cache import Cache
    from opbridge.twins.cuda import nvcc as twin_nvcc

    if options.arguments in (["-h"], ["--help"]):
        options.parser.print_help()
        return 0
    home = twin_nvcc.write(Cache().root / "cuda")
    if options.arguments == ["--home"]:
        print(home)
        return 0
    return twin_nvcc.run(options.arguments, home)
