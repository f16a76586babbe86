"""`opbridge completion`: what a real shell then offers behind a half-typed command."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable

import pytest

from opbridge.cli import COMMANDS

Opbridge = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def offered() -> Callable[[str], list[str]]:
    printed = subprocess.run([sys.executable, "-m", "opbridge", "completion", "bash"], capture_output=True, text=True)
    script = printed.stdout

    def complete(line: str) -> list[str]:
        words = shlex.split(line) + ([""] if line.endswith(" ") else [])
        asked = f"COMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}; _opbridge"
        program = f'{script}\n{asked}; printf "%s\\n" "${{COMPREPLY[@]}}"'
        done = subprocess.run(["bash", "-euc", program], capture_output=True, text=True, check=True)
        return done.stdout.split()

    return complete


def test_every_command_is_offered(offered: Callable[[str], list[str]]) -> None:
    assert offered("opbridge ") == list(COMMANDS)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("opbridge bu", ["build"]),
        ("opbridge build ops.yaml --wa", ["--watch"]),
        ("opbridge check --framework nu", ["numpy"]),
        ("opbridge -v cache ", ["ls", "gc", "clear", "key", "log"]),
        ("opbridge build ", []),  # a file, which the shell completes itself
        ("opbridge wheel ops.yaml --output ", []),
        ("opbridge nonsense ", []),
    ],
)
def test_what_else_is_offered(offered: Callable[[str], list[str]], line: str, expected: list[str]) -> None:
    assert offered(line) == expected


def test_zsh_takes_the_same_function(opbridge: Opbridge) -> None:
    bash, zsh = opbridge("completion", "bash").stdout, opbridge("completion", "zsh").stdout
    assert zsh.endswith(bash)
    assert "bashcompinit" in zsh
