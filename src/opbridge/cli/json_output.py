"""`--json`: what programs read, in place of what people do, or beside it."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from pathlib import Path
from typing import Any

_PRINTED = Path("-")


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON instead")


def add_json_or_file(parser: argparse.ArgumentParser) -> None:
    help_text = "print JSON instead; or write it into FILE, and print what is always printed"
    parser.add_argument("--json", type=Path, nargs="?", const=_PRINTED, metavar="FILE", help=help_text)


def file_of(given: Path | None) -> Path | None:
    return None if given == _PRINTED else given


def people_read_stderr(given: bool | Path | None) -> AbstractContextManager[Any]:
    """Where JSON has stdout for itself: what is said meanwhile, by a user's own script too, is none."""
    return redirect_stdout(sys.stderr) if given is True or given == _PRINTED else nullcontext()


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, allow_nan=False))


def hand_over(text: str, given: Path | None) -> None:
    """To who asked for it by `add_json_or_file`."""
    if given == _PRINTED:
        print(text, end="")
    elif given is not None:
        given.write_text(text, encoding="utf-8")
