"""Every page does what it says: its files are written, its commands run and its Python is executed, in order.

A fence with `title="name"` is a file; `python` runs, all blocks of a page as one program; `console` runs each line
behind `$`; `pycon` is a doctest.  `sh` is for a reader's own machine, and only make's targets are looked up.
"""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from forked_python import PYTHON
from tests.helpers.confinement import needs_confinement

import opbridge.errors
from opbridge.cli import COMMANDS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "README.zh.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(?P<language>[\w+-]+)?(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN_ONLY = {"text", "sh", "yaml", "c++", "json"}
"""Languages of a fence without a title that are there to be read."""


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """Language, title and body of every fence."""
    found = []
    for match in FENCE.finditer(page.read_text()):
        title = re.search(r'title="([^"]+)"', match["info"] or "")
        found.append((match["language"] or "", title[1] if title else "", match["body"]))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
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
        "import shlex, subprocess, sys\n"
        "def __run_command__(line):\n"
        "    subprocess.run([sys.executable, '-m', *shlex.split(line)], check=True, stdout=subprocess.DEVNULL)\n"
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


def test_the_judge_says_what_its_page_shows(tmp_path: Path) -> None:
    needs_confinement()
    page = blocks(ROOT / "docs" / "judge.md")
    for name in ("reference.py", "answer.py"):
        (tmp_path / name).write_text(next(body for _, title, body in page if title == name))
    (tmp_path / "wrong.py").write_text((tmp_path / "answer.py").read_text().replace("i < n", "i <= n"))
    shown = [body for language, title, body in page if language == "text" and not title and "verdict: " in body]
    for answer, expected in zip(("answer.py", "wrong.py"), shown, strict=False):
        judge = [PYTHON, "-m", "opbridge", "judge", "reference.py", answer]
        assert subprocess.run(judge, cwd=tmp_path, capture_output=True, text=True).stdout == expected
    for name in ("README.md", "README.zh.md"):
        assert shown[1] in (ROOT / name).read_text()


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
        name for name, value in vars(opbridge.errors).items() if isinstance(value, type) and name.endswith("Error")
    }
    assert len(read) >= 5
    for name in {f"opbridge {command}" for command in COMMANDS} | read:
        assert f"`{name}" in page, f"{name} is not in docs/commands.md"
    page = (ROOT / "docs" / "errors.md").read_text()
    for name in errors:
        assert f"`{name}" in page, f"{name} is not in docs/errors.md"
