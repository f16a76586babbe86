"""opbridge twin nvcc: a stand-in for nvcc, whose programs run on this machine's processor with every access checked."""

from __future__ import annotations

import argparse

PREFIX_CHARS = "\0"
"""Nothing on its command line is for argparse to read."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    help_text = "what nvcc takes; --home alone prints the folder that stands for an installed CUDA, with bin/nvcc in it"
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT", help=help_text)


def run(options: argparse.Namespace) -> int:
    from opbridge.cache import Cache
    from opbridge.toolchains import twin_nvcc

    if options.arguments in (["-h"], ["--help"]):
        options.parser.print_help()
        return 0
    home = twin_nvcc.write(Cache().root / "cuda")
    if options.arguments == ["--home"]:
        print(home)
        return 0
    return twin_nvcc.run(options.arguments, home)
