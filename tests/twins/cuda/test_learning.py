"""docs/learn-cuda.md: its reports and its session in gdb are what a reader sees; its programs run with the page."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.test_docs import ROOT, blocks

from opbridge.build.cache import Cache
from opbridge.twins.cuda import nvcc as twin_nvcc

PAGE = ROOT / "docs" / "learn-cuda.md"
SOURCES = {title: body for _, title, body in blocks(PAGE) if title}
SHOWN = [body for language, _, body in blocks(PAGE) if language == "text"]
REPORTS = [body for body in SHOWN if body.startswith("cuda-twin: ")]
(SESSION,) = (body for body in SHOWN if "$1 = " in body)
STEPS = ("print threadIdx", "print i", "print part[threadIdx.x + half]", "continue", "print half")


def compiled(source: str, text: str, folder: Path, *words: str) -> Path:
    file = folder / source
    file.write_text(text)
    program = file.with_suffix("")
    assert twin_nvcc.run([*words, str(file), "-o", str(program)], twin_nvcc.write(Cache().root / "cuda")) == 0
    return program


def without(part: str, source: str) -> str:
    before, found, after = SOURCES[source].rpartition(part)
    assert found
    return before + after


def told(report: str, file: Path) -> list[str]:
    """But for addresses, which differ from run to run."""
    lines = report.replace(f"{file.parent}/", "").splitlines()
    return [line.partition(", ")[2] if line.startswith("  address") else line for line in lines]


@pytest.mark.parametrize(
    ("source", "left_out", "shown"), [("add.cu", "if (i < n) ", 0), ("sums.cu", "    __syncthreads();", 1)]
)
def test_a_mistake_is_reported_as_the_page_shows_it(source: str, left_out: str, shown: int, tmp_path: Path) -> None:
    program = compiled(source, without(left_out, source), tmp_path)
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert told(done.stderr, program)[:5] == told(REPORTS[shown], program)


@pytest.mark.skipif(shutil.which("gdb") is None, reason="no gdb on PATH")
def test_gdb_stops_in_one_thread_of_a_kernel_and_knows_its_variables(tmp_path: Path) -> None:
    program = compiled("sums.cu", SOURCES["sums.cu"], tmp_path, "-G")
    stop = "break sums.cu:9 if threadIdx.x == 3 && blockIdx.x == 1"
    assert f'-ex "{stop}"' in PAGE.read_text()
    words = (word for step in (stop, "run", *STEPS, "kill") for word in ("-ex", step))
    done = subprocess.run(
        ["env", "OPBRIDGE_NUM_THREADS=1", "gdb", "-batch", *words, program], capture_output=True, text=True, timeout=60
    )
    values = [line for line in done.stdout.splitlines() if line.startswith("$")]
    assert values == ["$1 = {x = 3, y = 0, z = 0}", "$2 = 259", "$3 = 2", "$4 = 64"], done.stdout + done.stderr
    assert all(value in SESSION for value in values[:3])
