"""A command with subcommands."""

from __future__ import annotations

import argparse
import importlib
from typing import cast

from opbridge.cli import CommandModule, help_texts
from opbridge.cli.command_table import SUBCOMMANDS


class Subcommands:
    """The subcommands of one command, each in its own module."""

    def __init__(self, command: str) -> None:
        self._command = command
        """The command, whose subcommands have modules named `COMMAND_NAME`."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add a parser for each subcommand."""
        subcommands = parser.add_subparsers(metavar="COMMAND", required=True)
        for name, command in SUBCOMMANDS[self._command].items():
            module = cast(CommandModule, importlib.import_module(f"opbridge.cli.{self._command}_{name}"))
            prefix = getattr(module, "PREFIX_CHARS", "-")
            subcommand = subcommands.add_parser(
                name,
                help=command.purpose,
                allow_abbrev=False,
                prefix_chars=prefix,
                add_help=prefix == "-",
                **help_texts(command),
            )
            module.add_arguments(subcommand)
            subcommand.set_defaults(module=module, parser=subcommand)

    def run(self, options: argparse.Namespace) -> int:
        """Run the selected subcommand and return its exit code."""
        return cast(CommandModule, options.module).run(options)
