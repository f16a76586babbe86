"""The command line as a whole: help, exit codes, errors without tracebacks."""

from __future__ import annotations

import argparse
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from subprocesses import python

from opbridge.cli import main, parser_of
from opbridge.cli.command_table import COMMANDS, GROUPS, SUBCOMMANDS

Opbridge = Callable[..., subprocess.CompletedProcess[str]]


def test_alone_it_prints_an_overview(opbridge: Opbridge) -> None:
    result = opbridge()
    assert result.returncode == 0
    assert result.stdout == opbridge("--help").stdout
    lines = [line.strip() for line in result.stdout.splitlines()]
    shown = [
        line.partition(" ")[0] for line in lines if line.partition(" ")[0].rstrip(":") in COMMANDS or line.endswith(":")
    ]
    assert shown == [word for title, group in GROUPS.items() for word in (f"{title}:".partition(" ")[0], *group)]
    for name, command in COMMANDS.items():
        assert any(line.startswith(name) and line.endswith(command.purpose) for line in lines)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    words = capsys.readouterr().out
    assert COMMANDS[name].purpose in words
    assert words.endswith("\n  ".join(["examples:", *COMMANDS[name].examples]) + "\n")


def test_every_example_is_accepted_by_its_command() -> None:
    commands = [*COMMANDS.values(), *(command for group in SUBCOMMANDS.values() for command in group.values())]
    for command in commands:
        assert 2 <= len(command.examples) <= 3
        for example in command.examples:
            name, *words = shlex.split(re.sub(r"^eval .\$\((.*)\).$|\s>.*", r"\1", example))[1:]
            parser = parser_of(name)
            (parser.parse_args if COMMANDS[name].passes_words_on else parser.parse_intermixed_args)(words)


def switches(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for subparser in action.choices.values():
                yield from switches(subparser)
        elif action.option_strings:
            yield action


def test_the_same_switch_has_the_same_words_in_every_command() -> None:
    spelled: dict[str, set[tuple[str, ...]]] = {}
    takes: dict[str, set[object]] = {}
    for action in (action for name in COMMANDS for action in switches(parser_of(name))):
        for word in action.option_strings:
            spelled.setdefault(word, set()).add(tuple(action.option_strings))
            if action.metavar is not None:
                takes.setdefault(word, set()).add(action.metavar)
    assert not {word: forms for word, forms in spelled.items() if len(forms) > 1 and word != "--op"}
    # What is made may be one file or a folder of them.
    assert not {word: taken for word, taken in takes.items() if len(taken) > 1 and taken != {"FILE", "DIR"}}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["buidl"], 2, "did you mean 'build'?"),
        (["xyzzy"], 2, "commands: " + ", ".join(COMMANDS)),
        (["build", "nope.yaml"], 2, "no such file: nope.yaml"),
        (["build"], 2, "required: ops.yaml"),
        (["build", "kernel.cpp"], 2, "opbridge compile kernel.cpp kernel.so"),
        (["build", "ops.yaml", "-o", "kernel.cpp"], 2, "cannot write to kernel.cpp: "),
        (["demo", "--keep", "kernel.cpp"], 2, "kernel.cpp: File exists"),
        (["compile", "nope.cpp", "k.so"], 2, "nope.cpp: no such file"),
        (["cache", "sl"], 2, "invalid choice"),
        (["build", "ops.yaml", "--device", "gpu"], 2, "invalid choice"),
    ],
)
def test_wrong_input_exits_with_2_and_says_why(
    arguments: list[str], code: int, words: str, opbridge: Opbridge, tmp_path: Path
) -> None:
    (tmp_path / "kernel.cpp").touch()
    result = opbridge(*arguments)
    assert result.returncode == code
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_help_is_a_word_too(opbridge: Opbridge) -> None:
    assert opbridge("help").stdout == opbridge().stdout
    assert opbridge("help", "build").stdout == opbridge("build", "--help").stdout


def test_output_that_cannot_be_written_is_an_error() -> None:
    command = [sys.executable, "-m", "opbridge"]
    with open("/dev/full", "w") as full:
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (result.returncode, result.stderr) == (2, "error: output: No space left on device\n")
    closed = subprocess.run(f"exec {sys.executable} -m opbridge >&-", shell=True, stderr=subprocess.PIPE, check=False)
    assert (closed.returncode, closed.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"CXX": "nonsense"}, "CXX names the compiler 'nonsense'"),
        ({"CXX": "'"}, 'CXX is "\'", which a shell would not take either: No closing quotation'),
        ({"CXXFLAGS": '"'}, "CXXFLAGS is"),
        ({"CXX": "false"}, "the compiler does not work"),
        ({"CXX": "true"}, "is it a C++ compiler?"),
        ({"PATH": ""}, "sudo apt install g++"),
    ],
)
def test_a_compiler_that_is_none_exits_with_3(
    environment: dict[str, str], words: str, opbridge: Opbridge, tmp_path: Path
) -> None:
    (tmp_path / "k.cpp").write_text('extern "C" int k() { return 0; }')
    result = opbridge("compile", "k.cpp", "k.so", **environment)
    assert result.returncode == 3
    assert words in result.stderr
    assert "Traceback" not in result.stderr


def test_verbose_shows_where_an_error_comes_from(opbridge: Opbridge) -> None:
    for arguments in (("-v", "build", "nope.yaml"), ("build", "nope.yaml", "-v")):
        result = opbridge(*arguments)
        assert "Traceback" in result.stderr
        assert result.stderr.endswith("error: no such file: nope.yaml\n")


def test_a_reader_that_leaves_is_no_error(cache_folder: Path) -> None:
    environment = {**os.environ, "OPBRIDGE_CACHE_DIR": str(cache_folder)}
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read(); from opbridge.cli import main; sys.exit(main([]))"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.close()
    process.stdin.close()
    assert process.stderr is not None
    with process.stderr as said:
        assert said.read() == b""
    assert process.wait() == 128 + signal.SIGPIPE


def test_an_interrupt_exits_with_130(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "running")
    (tmp_path / "c++").write_text(f"#!/bin/sh\necho > {tmp_path}/running\nexec sleep 600\n")
    (tmp_path / "c++").chmod(0o755)
    (tmp_path / "k.cpp").touch()
    process = subprocess.Popen(
        [sys.executable, "-m", "opbridge", "compile", "k.cpp", "k.so"],
        cwd=tmp_path,
        env={**os.environ, "CXX": str(tmp_path / "c++"), "OPBRIDGE_CACHE_DIR": str(tmp_path / "cache")},
        stderr=subprocess.PIPE,
        text=True,
    )
    # Opening the pipe returns once the compiler runs.
    with open(tmp_path / "running"):
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130
    assert said == ""


def test_colour_is_for_terminals_without_no_color() -> None:
    def shown(**environment: str) -> bytes:
        leader, follower = pty.openpty()
        subprocess.run(
            [sys.executable, "-m", "opbridge"], env={**os.environ, **environment}, stdout=follower, check=True
        )
        os.close(follower)
        with os.fdopen(leader, "rb", buffering=0) as terminal:
            return terminal.read(4096)

    assert b"\033[1m" in shown(NO_COLOR="")
    assert b"\033" not in shown(NO_COLOR="1")


def test_no_command_imports_a_framework() -> None:
    code = (
        "import sys, importlib, opbridge.cli as c\n"
        "for name in c.COMMANDS: c.module_of(name)\n"
        "sys.exit(', '.join({'numpy', 'torch', 'mindspore', 'jax'} & set(sys.modules)))"
    )
    result = python(code)
    assert result.stderr == "\n"
