"""Measure twenty kernels in the CUDA twin: with checks, without checks, and their compile times."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from time import perf_counter

from table import Row
from timing import Spread, ratios

from opbridge.base import floating_point
from opbridge.build.toolchains import host
from opbridge.build.toolchains.interface import INCLUDE
from opbridge.twins import cuda

_KERNELS = Path(__file__).resolve().parent / "kernels"
_NVCC = (sys.executable, "-m", "opbridge", "twin", "nvcc")
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPBRIDGE_NUM_THREADS": "1"}
_Times = dict[str, list[tuple[float, float]]]
"""The seconds of a kernel and of its loop, round by round."""


def kernels(quick: bool) -> list[Row]:
    rounds = 1 if quick else 5
    with tempfile.TemporaryDirectory(prefix="opbridge-course-") as scratch:
        compiling = _compiling(Path(scratch), 1 if quick else 3)
        program = _program(Path(scratch))
        plain, checked = (_times(program, rounds, checks) for checks in ("0", "1"))
    return [*_costs(plain, checked), compiling]


def _costs(plain: _Times, checked: _Times) -> list[Row]:
    """Return one row for the median of all kernels, and two for each kernel."""
    against_loops, against_plain, rows = [], [], []
    for name, times in plain.items():
        unchecked, loop = (list(seconds) for seconds in zip(*times, strict=True))
        watched = [kernel for kernel, _ in checked[name]]
        against_loops.append(ratios(unchecked, loop).median)
        against_plain.append(ratios(watched, unchecked).median)
        rows.append(Row.relative(f"CUDA twin, {name}, checks off", unchecked, "a loop, g++ -O3", loop, None))
        rows.append(Row.relative(f"CUDA twin, {name}, checked", watched, "the same, checks off", unchecked, None))
    return [
        _median("CUDA twin, 20 kernels, checks off", against_loops, "a loop, g++ -O3", "3/2"),
        _median("CUDA twin, 20 kernels, checked", against_plain, "the same, checks off", "10"),
        *rows,
    ]


def _median(what: str, of_each: list[float], against: str, reach: str) -> Row:
    """Return the median, with the spread over the kernels."""
    ratio = Spread.of(of_each)
    return Row(f"{what}: median", ratio, "x", against, None, ratio, Fraction(reach))


def _times(program: Path, rounds: int, checks: str) -> _Times:
    environment = {**os.environ, **_ONE_THREAD, "OPBRIDGE_TWIN_CHECKS": checks}
    text = subprocess.run([program, str(rounds)], env=environment, check=True, capture_output=True, text=True).stdout
    times: _Times = {}
    for line in text.splitlines():
        name, kernel, loop = line.split()
        times.setdefault(name, []).append((float(kernel), float(loop)))
    return times


def _program(folder: Path) -> Path:
    program, loops = folder / "course", folder / "loops.o"
    _run([*host.find(), "-O3", "-fopenmp", *_processor(), "-c", str(_KERNELS / "course_loops.cpp"), "-o", str(loops)])
    sources = [str(_KERNELS / "course.cu"), str(loops)]
    _run([*_NVCC, "-O3", *sources, "-Xcompiler", "-fopenmp", "-o", str(program)])
    return program


def _processor() -> tuple[str, ...]:
    """Return the processor that the twin compiles for, and its flags for arithmetic."""
    return (*host.processor_flag(), *host.vector_width(), *floating_point.FLAGS, "-ffp-contract=fast")


def _compiling(folder: Path, rounds: int) -> Row:
    """Compile the text that `twin nvcc` passes to g++, once by g++ alone."""
    source, result = _KERNELS / "course.cu", str(folder / "course.o")
    rewritten = cuda.translate(source, folder, [], has_cccl=False).source
    by_twin = [*_NVCC, "-O3", "-c", str(source), "-o", result]
    alone = [
        *host.find(),
        "-O3",
        *_processor(),
        *cuda.flags(checks=False),
        f"-isystem{INCLUDE}",
        "-std=c++17",
        "-include",
        "cuda_runtime.h",
    ]
    alone += ["-x", "c++", f"-iquote{_KERNELS}", "-c", str(rewritten), "-o", result]
    _run(by_twin)  # the twin's own folder is made once
    ours, theirs = zip(*((_seconds(by_twin), _seconds(alone)) for _ in range(rounds)), strict=True)
    return Row.relative("CUDA twin, twenty kernels compiled by twin nvcc", ours, "g++ -O3, unchecked", theirs, "13/10")


def _seconds(command: list[str]) -> float:
    begun = perf_counter()
    _run(command)
    return perf_counter() - begun


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True)
