"""Measure the first result of every feature with an empty cache, and the next program: processor seconds, and waits.

    python benchmarks/first_results.py [--python ENVIRONMENT/bin/python] [--only NAME]

The environment has a wheel of opbridge, installed by pip; the default is the present one.  Every program is a separate
process with a separate cache.  Its time contains the imports of Python and the frameworks.  Processor
seconds are those of the program and of all that it has started.  Steps of more than 2 s of wall time are listed.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

PROGRAMS = Path(__file__).parent / "first"
_PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", action="append", default=[])
    options = parser.parse_args()
    # Processes that outlive a program become children of this process, which can then read their times.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    print("| first result of | processor s | the next program | waits longest for |\n|---|---|---|---|")
    for program in sorted(PROGRAMS.glob("[!_]*.py")):
        if not options.only or program.stem in options.only:
            print(f"| {_title(program)} | {_measured(options.python, program)} |", flush=True)


def _title(program: Path) -> str:
    return program.read_text().partition("\n")[0].strip('" .')


def _measured(python: str, program: Path) -> str:
    with tempfile.TemporaryDirectory() as folder:
        first = _run(python, program, Path(folder))
        waits = _waits(Path(folder, "cache"))
        return f"{first:.1f} | {_run(python, program, Path(folder)):.1f} | {waits}"


def _waits(cache: Path) -> str:
    """Return the steps that opbridge reports to users, the longest first."""
    kept = cache / "durations.json"
    steps = json.loads(kept.read_text()) if kept.exists() else {}
    longest = sorted(steps.items(), key=lambda step: -step[1])
    return "; ".join(f"{what}, {seconds:.0f} s" for what, seconds in longest[:3]) or "imports and its own compilation"


def _run(python: str, program: Path, folder: Path) -> float:
    """Return the processor seconds of the program and of everything that it started."""
    variables = {**os.environ, "OPBRIDGE_CACHE_DIR": str(folder / "cache")}
    variables["PATH"] = f"{Path(python).absolute().parent}:{variables['PATH']}"
    before = _processor_time()
    done = subprocess.run([python, program], cwd=folder, env=variables, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{program.name}: {done.stderr or done.stdout}")
    _await_all()
    return _processor_time() - before


def _await_all() -> None:
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
