"""Every page does what it says: its files are written, its commands run and its Python is executed, in order.

A fence with `title="name"` is a file; `python` runs, all blocks of a page as one program; `console` runs each line
behind `$`; `pycon` is a doctest.  `sh` is for a reader's own machine, and only make's targets are looked up.
"""

from __future__ import annotations

import doctest
import importlib.metadata
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from forked_python import PYTHON
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.helpers.confinement import needs_confinement

import opbridge.base.errors
from opbridge.cli.command_table import COMMANDS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / name for name in ("README.md", "README.zh.md", "CONTRIBUTING.md")]
PAGES += [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "evidence").glob("*.md"))]
FENCE = re.compile(r"^```(?P<language>[\w+-]+)?(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWING = {"README.md", "README.zh.md", "index.md", "start.md"}
"""Pages that show what their programs print, in the `text` fence after each of them."""
PRINTED = re.compile(r"^ *print\(.*\)  # (?:\.\.\. )?(.*?)(?: \.\.\.)?$", re.MULTILINE)
"""What a comment after a `print` says that it prints."""
SLOW = re.compile(
    r"README\.zh|ascend|aten|attribute-block|autograd|bench|check|compile|convert|cuda|cuda-device|cuda-kernels|cuda-programs"
    r"|cuda-to-ascend|distributed|doctor|extension|formula|jax|judge|learn-cuda|mindspore|npu|onnx|profile|questions|readers"
    r"|report|scale|scan|sharding|torch|tour|tour\.zh|tvm-ffi"
)
"""Pages that take more than a few processor seconds, and whose commands have tests of their own."""
SLOWLY_RUN = [
    pytest.param(page, marks=pytest.mark.matrix("the commands of this page have tests of their own in tests/"))
    if SLOW.fullmatch(page.stem)
    else page
    for page in PAGES
]
SHOWN_ONLY = {"text", "sh", "yaml", "c++", "json"}
"""Languages of a fence without a title that are there to be read."""


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """Language, title and body of every fence."""
    found = []
    for match in FENCE.finditer(page.read_text()):
        title = re.search(r'title="([^"]+)"', match["info"] or "")
        found.append((match["language"] or "", title[1] if title else "", match["body"]))
    return found


@pytest.mark.parametrize("page", SLOWLY_RUN, ids=lambda page: page.name)
def test_a_page_runs(page: Path, tmp_path: Path) -> None:
    if page.name == "judge.md":
        needs_confinement()
    if page.name == "onnx.md":
        pytest.importorskip("onnxruntime")
        pytest.importorskip("onnxscript")
    program = ""
    for language, title, body in blocks(page):
        if title:
            (tmp_path / title).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / title).write_text(body)
        elif language == "python":
            program += body
        elif language == "console":
            commands = [line.removeprefix("$ ") for line in body.splitlines() if line.startswith("$ ")]
            program += "".join(f"__run_command__({command!r})\n" for command in commands)
        elif language == "pycon":
            continue
        else:
            assert language in SHOWN_ONLY, f"{page.name}: what is a fence of '{language}' for?"
    if not program:
        return
    prelude = (
        "import shlex, subprocess\n"
        "def __run_command__(line):\n"
        f"    subprocess.run([{PYTHON!r}, '-m', *shlex.split(line)], check=True, stdout=subprocess.DEVNULL)\n"
    )
    assert all(
        shlex.split(line.removeprefix("$ "))[0] == "opbridge"
        for language, _, body in blocks(page)
        if language == "console"
        for line in body.splitlines()
        if line.startswith("$ ")
    ), "a console block shows commands of opbridge"
    # A file, as a reader's would be: MindSpore compiles a graph from its function's source.
    (tmp_path / "page.py").write_text(prelude + program)
    run = subprocess.run([PYTHON, "page.py"], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    for value in PRINTED.findall(program):
        assert value in run.stdout
    if page.name in SHOWING:
        for output in outputs_of_programs(page):
            assert output in run.stdout


# Raises what Python does for a package that is not installed: {allowed} are the top-level names that are.
BLOCKING = """
import importlib.metadata, sys

class Finder:
    known = importlib.metadata.packages_distributions()
    allowed = frozenset({allowed!r})

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in self.known and not self.allowed.intersection(self.known[top]):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Finder())
"""


@pytest.mark.cases(1)
@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "README.zh.md"], ids=lambda page: page.name)
def test_a_readmes_programs_need_only_what_the_line_above_installs(page: Path, tmp_path: Path) -> None:
    installed, programs = "", 0
    for language, title, body in blocks(page):
        if language == "sh" and (line := re.search(r'pip install "?\.(?:\[(.*?)\])?"?(?=\s)', body)):
            installed = f"opbridge[{line[1] or ''}]"
        elif language == "python" and not title:
            assert installed, f"{page.name} shows a program before it says how to install opbridge"
            programs += 1
            # A new process: a fork would have the frameworks imported.
            (tmp_path / "sample.py").write_text(BLOCKING.format(allowed=sorted(closure(installed))) + body)
            run = subprocess.run([sys.executable, "sample.py"], cwd=tmp_path, capture_output=True, text=True)
            assert run.returncode == 0, run.stderr
    assert programs >= 2


def test_the_first_install_line_brings_no_framework() -> None:
    needed = closure("opbridge[]")
    assert {"opbridge", "numpy"} <= needed
    assert needed.isdisjoint({"torch", "jax", "mindspore", "paddlepaddle"})
    assert "torch" in closure("opbridge[torch]")


def closure(requirement: str) -> set[str]:
    """Return the distributions that installing a requirement brings, by the metadata of those that are here."""
    found: set[str] = set()
    waiting = [Requirement(requirement.replace("[]", ""))]
    seen: set[tuple[str, str]] = set()
    while waiting:
        wanted = waiting.pop()
        for extra in {"", *wanted.extras}:
            name = canonicalize_name(wanted.name)
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            try:
                distribution = importlib.metadata.distribution(name)
            except importlib.metadata.PackageNotFoundError:
                continue
            found.add(distribution.metadata["Name"])
            needs = map(Requirement, distribution.requires or ())
            waiting += [need for need in needs if need.marker is None or need.marker.evaluate({"extra": extra})]
    return found


def outputs_of_programs(page: Path) -> Iterator[str]:
    """Yield every `text` fence that follows a program directly."""
    shown = blocks(page)
    for (language, title, _), (after, _, output) in pairwise(shown):
        if language == "python" and not title and after == "text":
            yield output


@pytest.mark.matrix("tests/analysis/judge judges such answers")
def test_the_judge_says_what_its_page_shows(tmp_path: Path) -> None:
    needs_confinement()
    page = blocks(ROOT / "docs" / "judge.md")
    for name in ("reference.py", "answer.py"):
        (tmp_path / name).write_text(next(body for _, title, body in page if title == name))
    for name, guard in (("wrong.py", "i < n - 1"), ("odd.py", "i <= n")):
        (tmp_path / name).write_text((tmp_path / "answer.py").read_text().replace("i < n", guard))
    shown = [body for language, title, body in page if language == "text" and not title and "verdict: " in body]
    for answer, expected in zip(("answer.py", "wrong.py", "odd.py"), shown, strict=False):
        judge = [PYTHON, "-m", "opbridge", "judge", "reference.py", answer, "--seed", "0"]
        assert subprocess.run(judge, cwd=tmp_path, capture_output=True, text=True).stdout == expected
    for page in (ROOT / "README.md", ROOT / "README.zh.md"):
        assert shown[1] in page.read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_its_sessions_are_as_printed(page: Path) -> None:
    session = "\n".join(body for language, _, body in blocks(page) if language == "pycon")
    test = doctest.DocTestParser().get_doctest(session, {}, page.name, str(page), 0)
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_its_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?://|#|mailto:)([^)#\s]+)", FENCE.sub("", page.read_text())):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_its_programs_print_what_they_could_assert(page: Path) -> None:
    program = "".join(body for language, title, body in blocks(page) if language == "python" and not title)
    found = re.search(r"^ *(assert|\w+\.testing)\b.*", program, re.MULTILINE)
    assert found is None, f"{page.name}: print a value, and show it, instead of: {found[0]}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_its_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for target in re.findall(r"`make ([\w-]+)`|^make ([\w-]+)$", page.read_text(), re.MULTILINE):
        assert (target[0] or target[1]) in targets


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_its_commands_are_copied_as_they_stand(page: Path) -> None:
    for language, _, body in blocks(page):
        if language in ("sh", "console"):
            placeholder = re.search(
                r"<[a-z]+( [a-z]+)+>|<(your|repository|url|path)[\w-]*>|/path/to|example\.com", body
            )
            assert placeholder is None, f"{page.name} leaves it to the reader what {placeholder} is"


def test_commands_settings_and_errors_are_all_listed() -> None:
    page = (ROOT / "docs" / "commands.md").read_text()
    read = {
        name
        for file in (ROOT / "src").rglob("*.[ph]*")
        if file.suffix in (".py", ".h")
        for name in re.findall(r"""(?:environ|getenv)[^\n"]*"(OPBRIDGE_\w+)\"""", file.read_text())
    }
    errors = {
        name for name, value in vars(opbridge.base.errors).items() if isinstance(value, type) and name.endswith("Error")
    }
    assert len(read) >= 5
    for name in {f"opbridge {command}" for command in COMMANDS} | read:
        assert f"`{name}" in page, f"{name} is not in docs/commands.md"
    page = (ROOT / "docs" / "errors.md").read_text()
    for name in errors:
        assert f"`{name}" in page, f"{name} is not in docs/errors.md"
