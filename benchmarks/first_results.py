"""What the first result of every feature takes on a machine whose cache is empty, and what the next program takes.

    python benchmarks/first_results.py [--python ENVIRONMENT/bin/python] [--only NAME]

The environment is one that pip installed a wheel of opbridge into; by default the one at hand.  Every program is a
process of its own, with a cache of its own.  Its time holds the imports of Python and the frameworks.  Processor
seconds are those of the program and of all that it has started.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

PROGRAMS = Path(__file__).parent / "first"
_PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", action="append", default=[])
    options = parser.parse_args()
    # What a program leaves behind becomes a child of this process, which can ask for its times.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    print("| first result of | s | processor s | the next program, s |\n|---|---|---|---|")
    for program in sorted(PROGRAMS.glob("[!_]*.py")):
        if not options.only or program.stem in options.only:
            print(f"| {_title(program)} | {_measured(options.python, program)} |", flush=True)


def _title(program: Path) -> str:
    return program.read_text().partition("\n")[0].strip('" .')


def _measured(python: str, program: Path) -> str:
    with tempfile.TemporaryDirectory() as folder:
        first, again = _run(python, program, Path(folder)), _run(python, program, Path(folder))
    return f"{first[0]:.1f} | {first[1]:.1f} | {again[0]:.1f}"


def _run(python: str, program: Path, folder: Path) -> tuple[float, float]:
    variables = {**os.environ, "OPBRIDGE_CACHE_DIR": str(folder / "cache")}
    variables["PATH"] = f"{Path(python).absolute().parent}:{variables['PATH']}"
    before, began = _processor_time(), time.perf_counter()
    done = subprocess.run([python, program], cwd=folder, env=variables, capture_output=True, text=True)
    wall = time.perf_counter() - began
    if done.returncode:
        sys.exit(f"{program.name}: {done.stderr or done.stdout}")
    _await_all()
    return wall, _processor_time() - before


def _await_all() -> None:
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
