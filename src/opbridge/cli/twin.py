"""opbridge twin: what is written for an accelerator, run on the CPU as it is; one module a subcommand."""

from __future__ import annotations

import argparse
import importlib
from typing import cast

from opbridge.cli import CommandModule

SUBCOMMANDS = {
    "run": "run a program with stand-ins for torch_npu and CANN in front",
    "nvcc": "compile CUDA programs as nvcc does, for the CPU and with checks",
    "op": "build an operator project (op_host and op_kernel) for the CPU, and say what is in it",
    "cann": "write a folder that CMake projects of Ascend C take for an installed CANN",
}
"""Each is a module of its own, `twin_NAME`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    subcommands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, purpose in SUBCOMMANDS.items():
        module = cast(CommandModule, importlib.import_module(f"opbridge.cli.twin_{name}"))
        prefix = getattr(module, "PREFIX_CHARS", "-")
        subcommand = subcommands.add_parser(
            name, help=purpose, description=purpose, allow_abbrev=False, prefix_chars=prefix, add_help=prefix == "-"
        )
        module.add_arguments(subcommand)
        subcommand.set_defaults(module=module, parser=subcommand)


def run(options: argparse.Namespace) -> int:
    return cast(CommandModule, options.module).run(options)
