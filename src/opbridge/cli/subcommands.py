"""A command with subcommands."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Mapping
from typing import cast

from opbridge.cli import CommandModule


class Subcommands:
    """The subcommands of one command, each in its own module."""

    def __init__(self, command: str, purposes: Mapping[str, str]) -> None:
        self._command = command
        self._purposes = purposes
        """The purpose of each subcommand, whose module is `COMMAND_NAME`."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add a parser for each subcommand."""
        subcommands = parser.add_subparsers(metavar="COMMAND", required=True)
        for name, purpose in self._purposes.items():
            module = cast(CommandModule, importlib.import_module(f"opbridge.cli.{self._command}_{name}"))
            prefix = getattr(module, "PREFIX_CHARS", "-")
            subcommand = subcommands.add_parser(
                name, help=purpose, description=purpose, allow_abbrev=False, prefix_chars=prefix, add_help=prefix == "-"
            )
            module.add_arguments(subcommand)
            subcommand.set_defaults(module=module, parser=subcommand)

    def run(self, options: argparse.Namespace) -> int:
        """Run the selected subcommand and return its exit code."""
        return cast(CommandModule, options.module).run(options)
