"""Remember which test files passed in exactly the state they are in now, for `make quick`.

The state of a test file is its own text, everything in its folder, the shared fixtures and helpers, every module of
opbridge that its text and those modules name, all C++ sources, the compilers, the installed packages and the
environment.  A name counts wherever it occurs, also in the text of a program, so the state has too many files rather
than too few.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

from opbridge.build.cache import Cache, KeyBuilder
from opbridge.build.toolchains import host
from opbridge.build.toolchains.machine_identity import compiler, processor

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
KEPT = ROOT / "build" / "passed-before.json"
_NAME = re.compile(r"\bopbridge((?:\.\w+)*)(\.(?=[{\"']))?")
_SHARED = ("tests/conftest.py", "tests/helpers", "tests/kernels", "pyproject.toml")
_UNIMPORTANT = re.compile(r"OPBRIDGE_TESTS_.*|PYTEST_.*|PWD|OLDPWD|SHLVL|_|TERM|COLUMNS|LINES|SSH_.*|TMUX.*|WINDOWID")


def state_of(test: Path) -> str:
    """Return the key of a test file and of everything that its outcome may depend on."""
    key = KeyBuilder("state of a test file").add("machine", *_machine())
    for file in sorted({*_files(ROOT / test), *_cpp_sources()}):
        key.add("file", str(file.relative_to(ROOT)), file)
    return str(key.key())


def remembered() -> set[str]:
    """Return the states in which test files have passed."""
    return set(json.loads(KEPT.read_text())) if KEPT.is_file() else set()


def remember(states: Iterable[str]) -> None:
    """Add states to the remembered ones."""
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps(sorted(remembered() | set(states))))


def passed_in(report: Path) -> set[Path]:
    """Return the test files of a JUnit report in which every test ran and passed or said why it cannot run here."""
    passed: dict[Path, bool] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        late = any("the time is up" in (skipped.get("message") or "") for skipped in case.iter("skipped"))
        good = not late and case.find("failure") is None and case.find("error") is None
        file = Path(case.get("file") or "")
        passed[file] = passed.get(file, True) and good
    return {file for file, good in passed.items() if good}


def _files(test: Path) -> Iterator[Path]:
    shared = [file for place in _SHARED for file in _below(ROOT / place)]
    own = [*_below(test.parent), *shared]
    yield from own
    if test.name == "test_docs.py":
        yield from (*_below(ROOT / "docs"), *ROOT.glob("*.md"), ROOT / "Makefile")
    texts = "\n".join(file.read_text(errors="replace") for file in own if file.suffix == ".py")
    yield from _modules(frozenset(_named(texts)))


def _below(place: Path) -> list[Path]:
    files = place.rglob("*") if place.is_dir() else [place]
    return [file for file in files if file.is_file() and "__pycache__" not in file.parts]


@cache
def _modules(names: frozenset[str]) -> frozenset[Path]:
    """Return the files of the modules, and of those that they name in turn."""
    waiting, found = set(names), set()
    while waiting:
        file = SOURCE / waiting.pop()
        if file not in found:
            found.add(file)
            waiting |= _named(file.read_text())
    return frozenset(found)


def _named(text: str) -> set[str]:
    """Return the modules that a text names, as paths; a name that goes on in a variable means all that begin so."""
    found: set[str] = set()
    for match in set(_NAME.findall(text)):
        place = Path("opbridge", *match[0].split(".")[1:])
        if match[1]:
            found |= {str(file.relative_to(SOURCE)) for file in (SOURCE / place).glob("*.py")}
        found |= _files_of_module(place)
    return found


@cache
def _files_of_module(place: Path) -> frozenset[str]:
    """Return the files that an import of the module, or of a name in it, runs."""
    if place == Path("opbridge"):
        return frozenset({"opbridge/__init__.py", "opbridge/__main__.py"})
    for file in (place.with_suffix(".py"), place / "__init__.py"):
        if (SOURCE / file).is_file():
            return frozenset({str(file)}) | _files_of_module(place.parent)
    return _files_of_module(place.parent)


@cache
def _cpp_sources() -> tuple[Path, ...]:
    return tuple(file for file in _below(SOURCE) if file.suffix not in (".py", ".pyc", ".so"))


@cache
def _machine() -> tuple[str, ...]:
    packages = sorted(f"{found.name} {found.version}" for found in importlib.metadata.distributions())
    variables = sorted(f"{name}={value}" for name, value in os.environ.items() if not _UNIMPORTANT.fullmatch(name))
    return (compiler(host.find(), Cache()), processor(), *packages, *variables)
