"""`opbridge build` of kernels that do not fit the operators which name them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Opbridge = Callable[..., subprocess.CompletedProcess[str]]

KERNEL = """\
#include <opbridge/kernel.h>
void shift(ob::In<float> x, ob::In<float> by, ob::Out<float> out, double scale) {
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = x[i] + by[i] * static_cast<float>(scale);
}
OB_KERNEL(shift)
"""
FITS = "  - {func: 'shift(Tensor x, Tensor by, float scale) -> Tensor', out: x, kernels: {cpu: shift.cpp}}\n"
MISFITS = {
    FITS.replace("shift(", "shove("): "no kernel 'shove' in shift.cpp\n  it exports shift",
    FITS.replace(", float scale", ""): "shift.cpp:5: kernel shift does not fit fit::shift(Tensor x, Tensor by)",
    FITS.replace("Tensor by", "Tensor? by"): "cannot be None, but 'by' of the schema can: take an ob::Optional",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "shift.cpp").write_text(KERNEL)
    return tmp_path


def declare(project: Path, *entries: str) -> None:
    (project / "ops.yaml").write_text("namespace: fit\nops:\n" + "".join(entries))


@pytest.mark.parametrize(("entry", "words"), MISFITS.items())
def test_a_kernel_that_does_not_fit_is_no_kernel_that_is_ready(
    project: Path, opbridge: Opbridge, entry: str, words: str
) -> None:
    declare(project, entry)
    done = opbridge("build", "ops.yaml", "-o", "lib")
    assert done.returncode == 2
    assert words in done.stderr
    assert "ready" not in done.stdout
    assert not (project / "lib").exists()


def test_all_misfits_are_told(project: Path, opbridge: Opbridge) -> None:
    missing, _, optional = MISFITS
    declare(project, missing, optional.replace("shift(", "drift(").replace("shift.cpp", "shift.cpp:shift"), FITS)
    told = opbridge("build", "ops.yaml").stderr
    assert "no kernel 'shove'" in told
    assert "does not fit fit::drift(" in told
    assert "fit::shift(" not in told


def test_a_library_that_cannot_be_opened_here_is_left_to_where_it_can(project: Path, opbridge: Opbridge) -> None:
    declare(project, next(iter(MISFITS)))
    (project / "beside.cpp").write_text("int beside;\n")
    compiler = str(shutil.which("g++"))
    subprocess.run([compiler, "-shared", "-fPIC", "beside.cpp", "-o", "libbeside.so"], cwd=project, check=True)
    elsewhere = {"LDFLAGS": f"-L{project} -Wl,--no-as-needed -lbeside"}, {"OPBRIDGE_MARCH": "x86-64-v4"}
    for variables in elsewhere:
        done = opbridge("build", "ops.yaml", **variables)
        assert "1 of 1 kernel files ready" in done.stdout, done.stderr
