"""`opbridge build --watch`: a kernel is edited, broken and mended, and each time the terminal says so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

KERNEL = """\
#include <opbridge/kernel.h>
void twice(ob::In<float> x, ob::Out<float> out) {
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = x[i] + x[i];
}
OB_KERNEL(twice)
"""
MANIFEST = "namespace: watched\nops:\n  - {func: twice(Tensor x) -> Tensor, out: x, kernels: {cpu: twice.cpp}}\n"
PAST_THE_END = KERNEL.replace("i < out.numel()", "i <= out.numel()")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "ops.yaml").write_text(MANIFEST)
    (tmp_path / "twice.cpp").write_text(KERNEL)
    return tmp_path


@pytest.fixture
def watching(project: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "opbridge", "build", "ops.yaml", "--watch"]
    environment = {**os.environ, "OPBRIDGE_CACHE_DIR": str(project / "cache"), "PYTHONUNBUFFERED": "1"}
    piped = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=project, env=environment, stdout=piped, stderr=subprocess.STDOUT, text=True
    ) as run:
        yield run
        run.kill()


def save(path: Path, text: str) -> None:
    """In one piece, as editors do."""
    new = path.with_name(f".{path.name}")
    new.write_text(text)
    new.replace(path)


def told(run: subprocess.Popen[str]) -> str:
    """What it says until it waits for the next change."""
    lines = []
    assert run.stdout is not None
    for line in run.stdout:
        lines.append(line)
        if line.startswith("watching "):
            break
    return "".join(lines)


def test_every_change_is_built_and_checked(project: Path, watching: subprocess.Popen[str]) -> None:
    assert "1 of 1 changed operators pass the quick checks" in told(watching)

    kernel = project / "twice.cpp"
    save(kernel, KERNEL.replace("x[i] + x[i]", "x[i] + z[i]"))
    assert "twice.cpp:3" in told(watching)

    save(kernel, PAST_THE_END)
    broken = told(watching)
    assert "watched::twice  bounds: " in broken
    assert "0 of 1 changed operators pass" in broken

    save(kernel, KERNEL.replace("x[i] + x[i]", "2 * x[i]"))
    assert "1 of 1 changed operators pass" in told(watching)

    # Nothing of the operator has changed, so there is nothing to check.
    save(project / "ops.yaml", f"# My operators.\n{MANIFEST}")
    assert "quick checks" not in told(watching)

    watching.send_signal(signal.SIGINT)
    assert watching.wait() == 0
