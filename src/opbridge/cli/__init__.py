"""The command line program `opbridge`: one module per command, imported when the command is used."""

from __future__ import annotations

import argparse
import codecs
import importlib
import io
import logging
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol, TypedDict, cast

from opbridge._version import __version__
from opbridge.base.errors import InputError, OpbridgeError, did_you_mean
from opbridge.cli.command_table import COMMANDS, GROUPS, Command
from opbridge.cli.terminal import bold, red


class HelpTexts(TypedDict):
    """The keywords of an argument parser that come from the table of commands."""

    description: str
    epilog: str
    formatter_class: type[argparse.HelpFormatter]


class CommandModule(Protocol):
    """The interface of a command's module."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's arguments to its parser."""

    def run(self, options: argparse.Namespace) -> int:
        """Execute the command and return the exit code; failures are raised as an OpbridgeError."""


_INTERRUPTED = 128 + 2
_BROKEN_PIPE = 128 + 13


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return the exit code; this is the only place that turns an error into an exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    _print_anything()
    try:
        code = _dispatch(given)
        print(end="", flush=True)
    except OpbridgeError as error:
        logging.getLogger("opbridge").debug("the error came from here:", exc_info=error)
        print(f"{red('error:', sys.stderr)} {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        _abandon_stdout()  # the reader has gone, as after `head`
        return _BROKEN_PIPE
    except UnicodeEncodeError as error:
        letters = error.object[error.start : error.end]
        print(
            f"{red('error:', sys.stderr)} this locale's encoding, {error.encoding}, lacks {letters!a}", file=sys.stderr
        )
        print("  use UTF-8: export LC_ALL=C.UTF-8, or PYTHONUTF8=1", file=sys.stderr)
        return OpbridgeError.exit_code
    except OSError as error:
        logging.getLogger("opbridge").debug("the error came from here:", exc_info=error)
        print(f"{red('error:', sys.stderr)} {error.filename or 'output'}: {error.strerror}", file=sys.stderr)
        _abandon_stdout()
        return OpbridgeError.exit_code
    return code


def _print_anything() -> None:
    """Make standard output accept any text, such as paths with arbitrary bytes or letters missing in its encoding."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        codecs.register_error("opbridge", _as_it_was_or_escaped)
        sys.stdout.reconfigure(errors="opbridge")


def _as_it_was_or_escaped(error: UnicodeError) -> tuple[str | bytes, int]:
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeEncodeError:
        return codecs.backslashreplace_errors(error)


def _abandon_stdout() -> None:
    """Discard all further output, including what Python flushes when it exits."""
    with suppress(OSError, ValueError, AttributeError):  # a stream in place of a file's has nothing left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("opbridge", add_help=False)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--version", action="version", version=f"opbridge {__version__}")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("command", nargs="?")
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    if options.command == "help":
        return _dispatch([*options.rest[:1], "--help"])
    if options.help or options.command is None:
        print(_overview())
        return 0
    if options.command not in COMMANDS:
        hint = did_you_mean(options.command, COMMANDS) or f"commands: {', '.join(COMMANDS)}"
        raise InputError(f"opbridge has no command '{options.command}'", hint=hint)
    return _run(options.command, options.rest, options.verbose)


def _run(name: str, arguments: list[str], verbose: bool) -> int:
    parser = parser_of(name)
    # Intermixed: arguments after `--` belong to the last positional one, wherever the options are.
    parse = parser.parse_args if COMMANDS[name].passes_words_on else parser.parse_intermixed_args
    options = parse(arguments)
    options.verbose = verbose or options.verbose
    if options.verbose:
        logging.basicConfig(format="%(message)s")
        logging.getLogger("opbridge").setLevel(logging.DEBUG)
    return module_of(name).run(options)


def module_of(name: str) -> CommandModule:
    """Import and return the module of a command."""
    return cast(CommandModule, importlib.import_module(f"opbridge.cli.{name.replace('-', '_')}"))


def parser_of(name: str) -> argparse.ArgumentParser:
    """Return the argument parser of a command."""
    parser = argparse.ArgumentParser(f"opbridge {name}", allow_abbrev=False, **help_texts(COMMANDS[name]))
    parser.add_argument("-v", "--verbose", action="store_true", help="show every step, and the origin of an error")
    module_of(name).add_arguments(parser)
    return parser


def help_texts(command: Command) -> HelpTexts:
    """Return what argparse prints before and after the arguments of a command."""
    return {
        "description": command.purpose,
        "epilog": "\n".join(["examples:", *(f"  {example}" for example in command.examples)]),
        "formatter_class": argparse.RawDescriptionHelpFormatter,
    }


def _overview() -> str:
    width = max(map(len, COMMANDS))
    lines = ["Write a tensor operator once; call it from PyTorch, MindSpore, JAX, Paddle and NumPy.", ""]
    for title, commands in GROUPS.items():
        lines.append(f"{title}:")
        lines += [f"  {bold(name.ljust(width))}  {command.purpose}" for name, command in commands.items()]
        lines.append("")
    start = COMMANDS["new"].examples[0]
    return "\n".join([*lines, f"Start with `{start}`; `opbridge COMMAND --help` explains a command."])
