"""The `--json` option: output for programs, instead of or in addition to the output for people."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from pathlib import Path

_PRINTED = Path("-")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`, which prints JSON instead of text."""
    parser.add_argument("--json", action="store_true", help="print JSON instead")


def add_json_or_file(parser: argparse.ArgumentParser) -> None:
    """Add `--json [FILE]`, which prints JSON instead of text, or writes it to a file in addition."""
    help_text = "print JSON instead, or write it into FILE and print the usual text"
    parser.add_argument("--json", type=Path, nargs="?", const=_PRINTED, metavar="FILE", help=help_text)


def file_of(given: Path | None) -> Path | None:
    """Return the file that `--json FILE` names; None if the JSON is printed or not requested."""
    return None if given == _PRINTED else given


def people_read_stderr(given: bool | Path | None) -> AbstractContextManager[object]:
    """Redirect standard output to standard error inside the `with` block if JSON is printed.

    Text printed meanwhile, also by a user's own script, must not mix with the JSON.
    """
    return redirect_stdout(sys.stderr) if given is True or given == _PRINTED else nullcontext()


def print_json(value: object) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, indent=2, allow_nan=False))


def hand_over(text: str, given: Path | None) -> None:
    """Print or write the JSON text as requested with `add_json_or_file`."""
    if given == _PRINTED:
        print(text, end="")
    elif given is not None:
        given.write_text(text, encoding="utf-8")
