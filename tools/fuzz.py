"""Runs the tests that draw their inputs, with inputs no run has drawn before, until the time is up.

    python tools/fuzz.py MINUTES [-j N]

First those of tests/fuzz, for what users and strangers write: schemas, manifests, rules, seals, ELF files, wheels.
Every second round all other tests that draw their inputs run as well.  A failure ends it, with the smallest input that
fails and a line that runs it again.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGETS = ROOT / "tests" / "fuzz"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("minutes", type=float)
    parser.add_argument("-j", "--jobs", default="auto", help="processes; one for each processor by default")
    options = parser.parse_args()
    end = time.time() + 60 * options.minutes
    others = [path for path in sorted((ROOT / "tests").rglob("test_*.py")) if TARGETS not in path.parents]
    drawing = [path for path in others if "\n@given" in path.read_text(encoding="utf-8")]
    rounds = 0
    while time.time() < end:
        profile, paths = ("new examples", drawing) if rounds % 2 else ("fuzz", [TARGETS])
        if code := _run(profile, paths, end, options.jobs):
            return code
        rounds += 1
    print(f"{options.minutes:g} minutes, {rounds} rounds, and nothing found")
    return 0


def _run(profile: str, paths: list[Path], end: float, jobs: str) -> int:
    command = [sys.executable, "-m", "pytest", "-q", f"--hypothesis-profile={profile}", *map(str, paths)]
    if jobs != "1":
        command += ["-n", jobs, "--dist", "worksteal"]
    # Each test is over soon; tests/conftest.py begins none after the end.
    environment = {**os.environ, "OPBRIDGE_TESTS_UNTIL": str(end)}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
