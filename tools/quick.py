"""Run the tests of what changed, nearest first, and begin none after two minutes.

    python tools/quick.py [REVISION]

What changed is the difference between the working tree and the revision, which is `main` by default.  Tests mirror the
sources: those of the file of the same name come first, then those of its folder, then those that name its module.  A
test file that passed before, and of which nothing has changed since, does not run again.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
REPORT = ROOT / "build" / "quick.xml"
SECONDS = 120


def main() -> int:
    """Run the tests, and return the exit status of pytest."""
    import passed_before

    states = {test: passed_before.state_of(test) for test in tests_of(changed(*sys.argv[1:]))}
    known = passed_before.remembered()
    for test, state in states.items():
        print(f"{test}: unchanged, passed before" if state in known else test)
    tests = [test for test, state in states.items() if state not in known]
    if not tests:
        return 0
    options = ["-q", "-n", "auto", f"--junit-xml={REPORT}", "-o", "junit_family=xunit1"]
    environment = {**os.environ, "OPBRIDGE_TESTS_UNTIL": str(time.time() + SECONDS)}
    command = [sys.executable, "-m", "pytest", *options, *map(str, tests)]
    status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    if REPORT.is_file():
        passed_before.remember(states[test] for test in passed_before.passed_in(REPORT) if test in states)
    return status


def changed(revision: str = "main") -> list[Path]:
    """Return the changed files, relative to the repository; files that git does not track yet are new."""
    differing = ["git", "diff", "--name-only", "--diff-filter=d", revision]
    untracked = ["git", "ls-files", "--others", "--exclude-standard"]
    lines = (subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
             for command in (differing, untracked))  # fmt: skip
    return [Path(line) for found in lines for line in found]


def tests_of(files: Iterable[Path]) -> list[Path]:
    """Return the test files for changed files, without repetition."""
    every = sorted(path.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py"))
    chosen = [Path("tests/test_architecture.py")]
    sources = [file.relative_to("src/opbridge") for file in files if file.is_relative_to("src/opbridge")]
    chosen += [file for file in files if file in every]
    chosen += [test for source in sources for test in every if test.name == f"test_{source.stem}.py"]
    chosen += [test for source in sources for test in every if Path("tests", source).parent == test.parent]
    modules = [f"opbridge.{'.'.join(source.with_suffix('').parts)}" for source in sources if source.suffix == ".py"]
    named = {test: (ROOT / test).read_text(encoding="utf-8") for test in every} if modules else {}
    chosen += [test for test, text in named.items() if any(module in text for module in modules)]
    if any(file.parts[0] in ("docs", "README.md", "README.zh.md") for file in files):
        chosen.append(Path("tests/test_docs.py"))
    return list(dict.fromkeys(chosen))


if __name__ == "__main__":
    sys.exit(main())
