"""opbridge wheel: what it takes, and what it says."""

from __future__ import annotations

import json
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

Opbridge = Callable[..., subprocess.CompletedProcess[str]]

MANIFEST = """\
namespace: halves
ops:
  - {func: half(Tensor x) -> Tensor, out: x, kernels: {cpu: half.cpp, cuda: half.cu}}
"""
KERNEL = """\
#include <opbridge/kernel.h>
void half(ob::In<float> x, ob::Out<float> out) {
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = x[i] / 2;
}
OB_KERNEL(half)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "ops.yaml").write_text(MANIFEST)
    (tmp_path / "half.cpp").write_text(KERNEL)
    (tmp_path / "COPYING").write_text("Do as you like.\n")
    return tmp_path


def test_it_says_what_the_wheel_holds_and_how_to_install_it(project: Path, opbridge: Opbridge) -> None:
    result = opbridge("wheel", "ops.yaml", "--version", "1.2", "--license", "MIT", "--license-file", "COPYING")
    assert result.returncode == 0, result.stderr
    (wheel,) = (project / "dist").iterdir()
    kernel, left_out, made, install = result.stdout.splitlines()
    assert kernel.startswith("half.cpp  ")
    assert "portable" in kernel
    assert left_out == "half.cu  left out: it is for cuda; --device cuda adds it"
    assert made.startswith(f"dist/{wheel.name}  ")
    assert install.startswith(f"install it with: pip install dist/{wheel.name}")
    with zipfile.ZipFile(wheel) as archive:
        assert b"\nLicense-Expression: MIT\n" in archive.read("halves-1.2.dist-info/METADATA")
        assert archive.read("halves-1.2.dist-info/licenses/COPYING") == b"Do as you like.\n"


def test_a_folder_and_a_name_of_ones_own(project: Path, opbridge: Opbridge) -> None:
    result = opbridge("wheel", "ops.yaml", "-o", "out/wheels", "--name", "my-halves")
    assert result.returncode == 0, result.stderr
    (wheel,) = (project / "out" / "wheels").iterdir()
    assert wheel.name.startswith("my_halves-0.1.0-py3-none-")


def test_a_folder_for_the_loader_of_hugging_face(project: Path, opbridge: Opbridge) -> None:
    result = opbridge("wheel", "ops.yaml", "--format", "kernels", "--version", "3", "--license", "MIT")
    assert result.returncode == 0, result.stderr
    (variant,) = (project / "dist" / "halves" / "build").iterdir()
    said = json.loads((variant / "metadata.json").read_text())
    assert (said["name"], said["version"], said["license"]) == ("halves", 3, "MIT")
    assert (variant / "__init__.py").is_file()
    assert "its users need opbridge" in result.stdout
    assert "load it with: kernels.get_local_kernel(Path('dist/halves'))" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (["none.yaml"], "none.yaml", 2),
        (["ops.yaml", "--name", "numpy"], "'numpy' cannot be imported as a package of its own", 2),
        (["ops.yaml", "--version", "one"], "'one' is not a version", 2),
        (["ops.yaml", "--license-file", "NONE"], "cannot read NONE", 2),
        (["ops.yaml", "-o", "COPYING"], "cannot write to COPYING: ", 2),
        (["ops.yaml", "--format", "kernels", "--version", "one.2"], "'one.2' is not a version", 2),
        (["ops.yaml", "--format", "kernels", "--name", "x"], "'x' cannot name a kernel of the hub", 2),
        (["ops.yaml", "--format", "kernels", "--device", "cuda"], "writes kernels for the CPU", 2),
        (["ops.yaml", "--adapter-for", "./none"], "cannot run ./none", 2),
    ],
)
def test_what_is_wrong_is_said(project: Path, opbridge: Opbridge, arguments: list[str], said: str, code: int) -> None:
    result = opbridge("wheel", *arguments)
    assert (result.returncode, result.stdout) == (code, "")
    assert said in result.stderr
    assert result.stderr.startswith("error: ")


def test_a_kernel_that_does_not_compile(project: Path, opbridge: Opbridge) -> None:
    (project / "half.cpp").write_text(KERNEL.replace("/ 2", "/ two"))
    result = opbridge("wheel", "ops.yaml")
    assert result.returncode == 3
    assert "half.cpp:3:" in result.stderr
    # What went wrong for every processor is said once.
    assert result.stderr.count("was not declared") == 1
