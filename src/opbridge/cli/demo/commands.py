"""What else is one command away: each runs as a user would type it, while the screen shows the rest."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from opbridge.cli.terminal import bold, red

_WIDTH = 110


@dataclass(frozen=True)
class Command:
    words: tuple[str, ...]
    said: Callable[[str], str]
    """The sentence to show of all that it printed."""
    ends_with: int = 0
    needs: tuple[str, ...] = ()
    """Frameworks."""
    switches: tuple[str, ...] = ()
    """By which it prints what `said` reads; nobody need type them."""


@dataclass(frozen=True)
class Running:
    command: Command
    process: subprocess.Popen[str]


def _verdict(printed: str) -> str:
    found = json.loads(printed)
    first = found["reasons"][0]
    (kind,) = re.findall(r"\[([a-z-]+)\]", first["message"])[:1]
    return f"{found['verdict']}: {kind} at {first['place']}"


def _advice(printed: str) -> str:
    kernel = json.loads(printed)["kernels"][0]
    return f"bound by {kernel['bound']}: {kernel['advice'][0]}"


def _last_line(printed: str) -> str:
    return printed.strip().splitlines()[-1]


_COMMANDS = (
    Command(
        ("judge", "racing.yaml", "expected.py:row_norm"), _verdict, ends_with=1, needs=("torch",), switches=("--json",)
    ),
    Command(("profile", "ops.yaml:squared_relu"), _advice, switches=("--json",)),
    Command(
        ("convert", "net:classifier", "--input", "2,3,8,8", "-o", "net_ms", "--check"),
        _last_line,
        needs=("torch", "mindspore"),
    ),
)


def start(folder: Path, frameworks: Sequence[str]) -> list[Running]:
    return [
        Running(
            command,
            subprocess.Popen(
                [sys.executable, "-m", "opbridge", *command.words, *command.switches],
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            ),
        )
        for command in _COMMANDS
        if set(command.needs) <= set(frameworks)
    ]


def show(running: Sequence[Running], place: str) -> bool:
    """Whether one did not say what it should; `place` is where a user can type them too."""
    print(f"\n{bold('One command away')}, in {place}", flush=True)
    fails = False
    for one in running:
        printed = one.process.communicate()[0]
        print(f"  opbridge {' '.join(one.command.words)}")
        if one.process.returncode != one.command.ends_with:
            fails = True
            print(red(textwrap.indent(printed, "    ")))
            continue
        sentence = one.command.said(printed)
        print(textwrap.fill(sentence, _WIDTH, initial_indent="    ", subsequent_indent="    "), flush=True)
    return fails
