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
from dataclasses import dataclass
from typing import Protocol, cast

from opbridge._version import __version__
from opbridge.base.errors import InputError, OpbridgeError, did_you_mean
from opbridge.cli.terminal import bold, red


class CommandModule(Protocol):
    """The interface of a command's module."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's arguments to its parser."""

    def run(self, options: argparse.Namespace) -> int:
        """Execute the command and return the exit code; failures are raised as an OpbridgeError."""


@dataclass(frozen=True)
class Command:
    """A command's entry in the overview and in its help."""

    purpose: str
    example: str
    passes_words_on: bool = False
    """Whether all arguments after the first word belong to a subcommand or another program."""


COMMANDS = {
    "demo": Command("a C++ kernel becomes an operator of every framework here", "opbridge demo"),
    "new": Command("start a library of operators that builds and passes its tests", "opbridge new scaled_add"),
    "build": Command("build the kernels of a manifest", "opbridge build ops.yaml -o lib"),
    "check": Command("hold operators against references, gradients and sanitizers", "opbridge check ops.yaml"),
    "bench": Command("time operators beside a reference and the machine's limits", "opbridge bench ops.yaml"),
    "profile": Command(
        "what kernels cost, line by line, without the hardware", "opbridge profile --chip h100 ops.yaml"
    ),
    "report": Command("one HTML file of checks and times, for people", "opbridge report ops.yaml -o report.html"),
    "compile": Command("compile one source to one library for any host", "opbridge compile relu.cpp relu_cpu.so"),
    "explain": Command("what follows from formulas: rules, gradients, kernels", "opbridge explain ops.yaml"),
    "aten": Command("look up an operator of PyTorch, and how to call it from here", "opbridge aten leaky_relu"),
    "scan": Command("what MindSpore lacks of a PyTorch model, written as a package", "opbridge scan train.py"),
    "convert": Command(
        "a PyTorch network in MindSpore or JAX, whole", "opbridge convert net:Net --input 2,3,8,8 -o net_ms"
    ),
    "codegen": Command("sources of a backend from its declarations", "opbridge codegen ops.yaml -o backend"),
    "wheel": Command("make a package that others install without a compiler", "opbridge wheel ops.yaml -o dist"),
    "run-build": Command(
        "take over the build of a PyTorch extension, as it is", "opbridge run-build pip install .", passes_words_on=True
    ),
    "doctor": Command("say what is here, what is missing and how to mend it", "opbridge doctor"),
    "twin": Command(
        "run what is written for an accelerator on the CPU, as it is", "opbridge twin cann", passes_words_on=True
    ),
    "port": Command(
        "hold a kernel's port to another accelerator against the original",
        "opbridge port check relu.cu relu.cpp",
        passes_words_on=True,
    ),
    "judge": Command("whether an answer to a task is right, without a GPU", "opbridge judge reference.py answer.py"),
    "cache": Command("show, trim or empty the cache of builds; keys for a shared one", "opbridge cache ls"),
    "completion": Command("let a shell complete these commands", 'eval "$(opbridge completion bash)"'),
}

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
    with suppress(OSError, ValueError, AttributeError):  # a stream in the place of a file's has nothing left
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
    command = COMMANDS[name]
    parser = argparse.ArgumentParser(
        f"opbridge {name}",
        description=command.purpose,
        epilog=f"example: {command.example}",
        allow_abbrev=False,
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="show every step, and where an error comes from")
    module_of(name).add_arguments(parser)
    return parser


def _overview() -> str:
    width = max(map(len, COMMANDS))
    return "\n".join(
        [
            "Write a tensor operator once; call it from PyTorch, MindSpore, JAX, Paddle and NumPy.",
            "",
            *(f"  {bold(name.ljust(width))}  {command.purpose}" for name, command in COMMANDS.items()),
            "",
            f"Start with `{COMMANDS['new'].example}`; `opbridge COMMAND --help` explains a command.",
        ]
    )
