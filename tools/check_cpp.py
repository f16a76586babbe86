"""Compiles all of opbridge's own C++ with every warning an error; nothing is linked or run."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
import torch

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "opbridge"
TORCH = Path(torch.__file__).parent / "include"
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-error=unknown-pragmas")
OURS = (f"-I{SOURCE / 'include'}", f"-I{SOURCE / 'native'}")
PYTHON = f"-isystem{sysconfig.get_path('include')}"


def commands() -> dict[str, list[str]]:
    compiler = [*shlex.split(os.environ.get("CXX", "g++")), "-fsyntax-only", *WARNINGS, *OURS, PYTHON]
    core = sorted((SOURCE / "native" / "core").glob("*.cpp"))
    headers = sorted((SOURCE / "include" / "opbridge").glob("*.h"))
    torch_headers = [f"-isystem{TORCH}", f"-isystem{TORCH / 'torch' / 'csrc' / 'api' / 'include'}"]
    adapter = SOURCE / "native" / "torch" / "module.cpp"
    found = {str(path): [*compiler, "-std=c++17", f"-isystem{numpy.get_include()}", str(path)] for path in core}
    found |= {str(path): [*compiler, "-std=c++17", "-xc++", "-include", str(path), os.devnull] for path in headers}
    found[str(adapter)] = [*compiler, "-std=c++20", *torch_headers, str(adapter)]
    return found


def main() -> int:
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        runs = threads.map(
            lambda item: (item[0], subprocess.run(item[1], capture_output=True, text=True)), commands().items()
        )
        failures = [(path, run.stderr) for path, run in runs if run.returncode]
    for path, said in failures:
        print(f"{path}\n{said}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
