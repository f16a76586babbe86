"""Other commands that the demo shows, each run as a user would type it, while the demo prints the rest."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from opbridge.build.cache import Cache
from opbridge.cli.demo.programs import ended, program
from opbridge.cli.terminal import bold, red
from opbridge.verify.check.child_process import Child

_WIDTH = 110


@dataclass(frozen=True)
class Command:
    """A command line, and how to summarize its output."""

    words: tuple[str, ...]
    said: Callable[[str], str]
    """Returns the sentence to show from the whole output."""
    ends_with: int = 0
    needs: tuple[str, ...] = ()
    """The frameworks that it needs."""
    switches: tuple[str, ...] = ()
    """Options that make the output readable for `said`; the demo does not show them."""


@dataclass(frozen=True)
class Running:
    """A command that was started."""

    command: Command
    process: Child


def _verdict(printed: str) -> str:
    found = json.loads(printed)
    first = found["reasons"][0]
    (kind,) = re.findall(r"\[([a-z-]+)\]", first["message"])[:1]
    return f"{found['verdict']}: {kind} at {first['place']}"


def _advice(printed: str) -> str:
    kernel = json.loads(printed)["kernels"][0]
    return f"bound by {kernel['bound']}: {kernel['advice'][0]}"


def _comparisons(printed: str) -> str:
    return next(line for line in printed.splitlines() if "comparisons" in line)


_COMMANDS = (
    Command(
        ("judge", "racing.yaml", "expected.py:row_norm"), _verdict, ends_with=1, needs=("torch",), switches=("--json",)
    ),
    Command(("profile", "ops.yaml:squared_relu"), _advice, switches=("--json",)),
    Command(
        ("convert", "net:classifier", "--input", "2,3,8,8", "-o", "net_ms", "--check"),
        _comparisons,
        needs=("torch", "mindspore"),
    ),
)


def start(folder: Path, frameworks: Sequence[str]) -> list[Running]:
    """Start every command whose frameworks are installed, in the folder with the demo's files."""
    return [
        Running(command, program(folder, "opbridge", *command.words, *command.switches))
        for command in _COMMANDS
        if set(command.needs) <= set(frameworks)
    ]


def show(running: Sequence[Running], place: str) -> bool:
    """Print each command with its result, and return whether any failed.

    `place` is the folder in which the user can type the commands too.
    """
    print(f"\n{bold('One command away')}, in {place}", flush=True)
    fails = False
    for one in running:
        with Cache().step(f"running opbridge {one.command.words[0]}"):
            code, printed = ended(one.process)
        print(f"  opbridge {' '.join(one.command.words)}")
        if code != one.command.ends_with:
            fails = True
            print(red(textwrap.indent(printed, "    ")))
            continue
        sentence = one.command.said(printed)
        print(textwrap.fill(sentence, _WIDTH, initial_indent="    ", subsequent_indent="    "), flush=True)
    return fails
