"""Wrong arguments of every kind, for every command: a sentence and an exit code, never one of our tracebacks."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import signal
import socket
import sys
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from opbridge.cli import main, parser_of
from opbridge.cli.command_table import COMMANDS

FILES = {
    "missing": None,
    "empty": b"",
    "binary": bytes(range(256)) * 8,
    "latin": "# Prüfung\nnamespace: \xe4\n".encode("latin-1"),
    "list": b"- 1\n- [a, b]\n",
    "unclosed": b"namespace: odd\nops:\n  - {func: 'twice(Tensor x\n",
    "number": b"17\n",
    "nested": b"[" * 3000,
    "utf16": "namespace: odd\n".encode("utf-16"),
}
"""What a file has, by its name, which gets the suffix that the command expects."""
PLACES = ("good.yaml/inside", "/proc/nowhere/inside")
"""Where nothing can be written."""
VALUES = ("", "nonsense", "-1", "1e999", "nan", "a:b:c", "=", "bad\udcff", "ops.yaml", "9" * 5000)
"""For options."""

INPUTS: dict[str, list[str]] = {
    "new": [],
    "build": ["build {.yaml}", "build good.yaml --publish out --sign {.key}", "build {.yaml} -o out"],
    "compile": ["compile {.cpp} out.so", "compile {.cu} out.so", "compile --for onnxruntime {.yaml} out.so"],
    "check": ["check {.yaml}", "check {.yaml}:twice"],
    "bench": ["bench {.yaml}"],
    "report": ["report {.yaml}", "report --check {.json} good.yaml", "report --bench {.json} good.yaml"],
    "codegen": ["codegen {.yaml} -o out", "codegen {.yaml} -o out --key PrivateUse1 --namespace odd"],
    "wheel": ["wheel {.yaml}", "wheel {.toml} --format kernels", "wheel good.yaml --license-file {.txt}"],
    "doctor": ["doctor {.so}"],
    "scan": ["scan {.py}", "scan {}:Net"],
    "aten": [],
    "twin": ["twin nvcc {.cu}", "twin op {}", "twin nvcc {.o} -o out", "twin nvcc -c {.cu}"],
    "cache": ["cache key {.key}", "cache log {}"],
    "demo": [],
    "completion": [],
    "explain": ["explain {.yaml}"],
    "profile": ["profile {.yaml}", "profile {.cu}", "profile {}", "profile {.yaml}:twice"],
    "port": ["port check {.cu} good.cpp", "port check good.cu {.cpp}", "port check a.cu a.cpp --manifest {.yaml}"],
    "judge": [
        "judge {.py} good.py",
        "judge good.py {.py}",
        "judge {.yaml} aten::x",
        "judge --serve --token-file {.txt}",
    ],
    "convert": ["convert {}:Net -o out --input 2", "convert nowhere:Net -o out --inputs {}:example"],
    "run-build": [],
}
"""Command lines of each command, with a hole for a file that should have this suffix."""
OUTPUTS = (
    "new {}",
    "build good.yaml -o {}",
    "build good.yaml --publish {}",
    "compile good.cpp {}",
    "compile good.cpp {}.so",
    "check good.yaml --junit {}",
    "check good.yaml --json {}",
    "check good.yaml --plot {}.png",
    "bench good.yaml --json {}",
    "report good.yaml -o {}",
    "codegen good.yaml -o {}",
    "wheel good.yaml -o {}",
    "cache key {}",
    "demo --keep good.yaml/{}",
    "twin cann {}",
    "twin nvcc good.cu -c -o {}.o",
    "profile good.cu --trace {}",
    "judge nothing --page {}",
    "convert good:Net --input 2,3 -o {}",
    "convert good:Net --input 2,3 -o good.yaml --check --page {}",
    "scan good:Net --input 2,3 -o {}",
)
WRONG = (
    "",
    "nonsense",
    "--nonsense",
    "build good.yaml --nonsense",
    "check good.yaml:nonsense",
    "check good.yaml --op nonsense",
    "check good.yaml --reference nonsense",
    "check good.yaml --reference nowhere:f",
    "bench good.yaml --reference nonsense:f",
    "bench good.yaml --chip nonsense",
    "bench good.yaml --against nonsense",
    "bench good.yaml --save ../x",
    "report good.yaml --profile good.py",
    "wheel good.yaml --name 1",
    "wheel good.yaml --version x",
    "wheel good.yaml --adapter-for nowhere",
    "wheel good.yaml --adapter-for good.py",
    "wheel good.yaml --adapter-for folder",
    "codegen --explain nonsense",
    "codegen good.yaml --explain nonsense",
    "codegen good.yaml",
    "explain good.yaml nonsense",
    "aten nonsense",
    "aten",
    "aten --search",
    "aten a --search b",
    "scan",
    "scan good:nonsense",
    "scan good:Net --input nonsense",
    "scan good:Net --input 2,3:nonsense",
    "scan good:Net",
    "scan good:Net --input 999999999999999,9",
    "scan good:Net --input 2:quint8",
    "scan good:number --input 2",
    "scan good:fails --input 2",
    "convert good:Net -o out",
    "convert good:nonsense -o out --input 2,3",
    "convert good:Net -o out --input nonsense",
    "convert good:Net -o out --inputs good:fails",
    "convert good:Net -o out --inputs good:nonsense",
    "convert good:Net -o out --inputs good:number",
    "convert good:Net -o out --input 2,3 --to nonsense",
    "convert good:Net -o out --input 2,3 --prefer nonsense",
    "convert good:Net -o out --input 2,3 --input 4",
    "twin",
    "twin nonsense",
    "twin run",
    "twin run folder",
    "twin nvcc",
    "twin nvcc --nonsense good.cu",
    "twin nvcc -arch=nonsense good.cu",
    "twin nvcc -o",
    "twin nvcc good.cu -lnowhere -o out",
    "twin nvcc -t nonsense good.cu",
    "twin nvcc -t -1 good.cu",
    "twin nvcc -ccbin nowhere good.cu",
    "twin nvcc -odir nowhere -c good.cu",
    "twin nvcc -MD -MF nowhere/x.d -c good.cu",
    "twin op",
    "twin op folder --op nonsense",
    "twin cann good.yaml",
    "cache",
    "cache ls nonsense",
    "cache log nonsense",
    "cache log ../../..",
    "completion",
    "completion nonsense",
    "demo --keep good.yaml",
    "doctor folder",
    "profile good.yaml:nonsense",
    "profile good.cu --chip nonsense",
    "profile",
    "port",
    "port nonsense",
    "port check good.cu",
    "port check good.cu:nonsense good.cpp",
    "port check good.cu good.cpp --schema nonsense",
    "port check good.cu good.cpp --launch nonsense",
    "port check good.cu good.cpp --dtype nonsense",
    "judge",
    "judge folder",
    "judge good.py",
    "judge good.py good.py --cost nonsense",
    "judge good.py good.py --jobs 0",
    "judge good.yaml",
    "judge good.yaml nonsense",
    "judge --serve --port 99999 folder",
    "judge --serve --port -1 folder",
    "judge --serve --host nowhere.invalid folder",
    "judge folder --ray nowhere:1",
    "run-build",
    "run-build nowhere",
    "run-build folder",
    "new Nonsense",
    "new 1x --template nonsense",
    "new folder",
)
ANY = (0, 1, 2, 3)
"""What is wrong for one command is right for another; a traceback is wrong for all."""
MATRIX = pytest.mark.matrix("test_what_is_wrong_is_said_by_every_command")
GOOD = {
    "good.yaml": "namespace: odd\nops:\n  - {func: twice(Tensor x) -> Tensor, out: x, kernels: {cpu: good.cpp}}\n",
    "good.cpp": "#include <opbridge/kernel.h>\n"
    "void twice(ob::In<float> x, ob::Out<float> out) { for (int64_t i = 0; i < x.numel(); ++i) out[i] = 2 * x[i]; }\n"
    "OB_KERNEL(twice)\n",
    "good.cu": "__global__ void k(float* x) { *x = 1; }\nint main() { return 0; }\n",
    "good.py": "import torch\nnumber = 17\ndef fails(*x): raise KeyError('mine')\n"
    "class Net(torch.nn.Module):\n    def forward(self, x): return torch.relu(x)\n",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with files of every kind."""
    folder = tmp_path_factory.mktemp("wrong")
    (folder / "folder").mkdir()
    for name, text in GOOD.items():
        (folder / name).write_text(text)
    before = Path.cwd()
    os.chdir(folder)
    yield folder
    os.chdir(before)


@pytest.fixture(autouse=True)
def nobody_waits(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", ["opbridge"])
    before = signal.signal(signal.SIGALRM, _waited_too_long)
    yield
    signal.signal(signal.SIGALRM, before)


class _LateError(BaseException):
    """Nothing was said for two minutes."""


def _waited_too_long(*_: object) -> None:
    raise _LateError


def wrong_files(suffix: str) -> Iterator[str]:
    """Names of files that are nothing that a command can use; each is written where it is not there."""
    for name, content in FILES.items():
        path = Path(f"{name}{suffix}")
        if content is not None and not path.exists():
            path.write_bytes(content)
        yield str(path)
    Path(f"dir{suffix or '.d'}").mkdir(exist_ok=True)
    if not Path(f"fifo{suffix}").exists():
        os.mkfifo(f"fifo{suffix}")
        Path(f"loop{suffix}").symlink_to(f"loop{suffix}")
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(f"socket{suffix}")
    yield from (f"dir{suffix or '.d'}", f"fifo{suffix}", f"loop{suffix}", f"socket{suffix}", "")
    yield from (f"bad\udcff{suffix}", "x" * 300 + suffix, f"good.py/x{suffix}", "/proc/self/mem")
    if os.geteuid() != 0:
        unreadable = Path(f"unreadable{suffix}")
        unreadable.touch(mode=0)
        yield str(unreadable)


def problem(words: list[str], expected: tuple[int, ...]) -> str:
    """What is wrong with how a command line ends; empty where it ends well.  A report cannot hold broken characters."""
    return _problem(words, expected).encode(errors="backslashreplace").decode()


def _problem(words: list[str], expected: tuple[int, ...]) -> str:
    out, err = io.StringIO(), io.StringIO()
    signal.alarm(120)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        return f"{words}: {traceback.format_exc()[-1500:]}"
    finally:
        signal.alarm(0)
    said = err.getvalue()
    if "Traceback" in said:
        return f"{words}: exit code {code}, a traceback: {said[-1500:]}"
    if code not in expected or (code == 2 and not said.strip()):
        return f"{words}: exit code {code}: {out.getvalue()[-300:]} {said[-300:]}"
    return ""


def problems(lines: Iterable[list[str]], expected: tuple[int, ...]) -> str:
    return "\n\n".join(filter(None, (problem(words, expected) for words in lines)))


def filled(line: str) -> Iterator[list[str]]:
    """A command line with each wrong file in its hole."""
    words = line.split()
    (at,) = (number for number, word in enumerate(words) if "{" in word)
    before, _, rest = words[at].partition("{")
    suffix, _, after = rest.partition("}")
    for file in wrong_files(suffix):
        yield [*words[:at], f"{before}{file}{after}", *words[at + 1 :]]


QUICK = ("build {.yaml}", "check {.yaml}", "codegen {.yaml} -o out", "wheel {.yaml}", "explain {.yaml}", "doctor {.so}")
"""Commands that have seen that a file is wrong before they compile anything or import a framework."""
QUICK_WORDS = (
    *("", "nonsense", "new Nonsense", "new folder", "cache", "cache log nonsense", "cache log ../../..", "judge"),
    *("twin nvcc -t nonsense good.cu", "judge --serve --port 99999 folder", "run-build nowhere", "completion nonsense"),
    *(
        "report good.yaml --bench good.py",
        "profile",
        "demo --keep good.yaml",
        "port check good.cu",
        "twin cann good.yaml",
    ),
)


def test_what_is_wrong_is_said_by_every_command() -> None:
    lines = [words for line in QUICK for words in filled(line)]
    lines += [line.split() for line in QUICK_WORDS if line]
    lines += [[command, *before, "--nonsense"] for command in COMMANDS for before in ([], ["good.yaml"])]
    found = problems(lines, (1, 2, 3))
    assert not found, found


@MATRIX
@pytest.mark.parametrize("command", [command for command, lines in INPUTS.items() if lines])
def test_a_wrong_file_is_said(command: str) -> None:
    found = problems((words for line in INPUTS[command] for words in filled(line)), ANY)
    assert not found, found


@MATRIX
@pytest.mark.parametrize("line", OUTPUTS)
def test_a_place_that_cannot_be_written_is_said(line: str) -> None:
    found = problems((line.replace("{}", place).split() for place in PLACES), ANY)
    assert not found, found


@MATRIX
@pytest.mark.parametrize("line", WRONG)
def test_wrong_words_are_said(line: str) -> None:
    found = problem(line.split(), ANY)
    assert not found, found


def options_of(parser: argparse.ArgumentParser) -> Iterator[tuple[list[str], argparse.Action]]:
    """Each option that takes a value, with the subcommand that has it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, subparser in action.choices.items():
                yield from (([name, *words], option) for words, option in options_of(subparser))
        elif action.option_strings and action.nargs != 0:
            yield [], action


@MATRIX
@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_value_of_an_option_is_said(command: str) -> None:
    lines = (
        [command, *words, "x.yaml", "x.yaml", option.option_strings[-1], value]
        for words, option in options_of(parser_of(command))
        for value in VALUES
    )
    found = problems(lines, ANY)
    assert not found, found
