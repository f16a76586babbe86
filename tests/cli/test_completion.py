"""`opbridge completion`: what a real shell then offers behind a half-typed command."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Callable

import pytest
from forked_python import PYTHON

from opbridge.cli.command_table import COMMANDS


def printed(shell: str) -> str:
    command = [PYTHON, "-m", "opbridge", "completion", shell]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def offered() -> Callable[[str], list[str]]:
    script = printed("bash")

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


def test_zsh_takes_the_same_function() -> None:
    bash, zsh = printed("bash"), printed("zsh")
    assert zsh.endswith(bash)
    assert "bashcompinit" in zsh


@pytest.fixture(scope="module")
def offered_by_fish(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[str]]:
    if shutil.which("fish") is None:
        pytest.skip("needs fish")
    script = tmp_path_factory.mktemp("fish") / "opbridge.fish"
    script.write_text(printed("fish"))

    def complete(line: str) -> list[str]:
        program = f"source {script}; complete -C {shlex.quote(line)}"
        done = subprocess.run(["fish", "-c", program], cwd=script.parent, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return [offer.partition("\t")[0] for offer in done.stdout.splitlines()]

    return complete


def test_fish_offers_every_command(offered_by_fish: Callable[[str], list[str]]) -> None:
    assert set(COMMANDS) <= set(offered_by_fish("opbridge "))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("opbridge bui", ["build"]),
        ("opbridge build ops.yaml --wat", ["--watch"]),
        ("opbridge check --framework nu", ["numpy"]),
        ("opbridge cache k", ["key"]),
    ],
)
def test_what_else_fish_offers(offered_by_fish: Callable[[str], list[str]], line: str, expected: list[str]) -> None:
    assert offered_by_fish(line) == expected
