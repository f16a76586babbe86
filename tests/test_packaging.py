"""What a stranger gets: the source distribution, a wheel made from it, and that in an environment with NumPy alone."""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import fresh_cache
import numpy
import pytest
import yaml

import opbridge

ROOT = Path(__file__).parents[1]
NEEDED = ("numpy", "numpy.libs", "yaml", "_yaml")

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def sdist(distributions: Path) -> Path:
    (made,) = distributions.glob("*.tar.gz")
    return made


@pytest.fixture(scope="module")
def stranger(opbridge_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs a program of an environment that holds opbridge, NumPy and PyYAML."""
    folder = tmp_path_factory.mktemp("stranger")
    environment = folder / "environment"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", str(opbridge_wheel)], check=True
    )
    installed = Path(numpy.__file__).parents[1]
    (site,) = environment.glob("lib/python3*/site-packages")
    for name in NEEDED:
        if (installed / name).exists():
            (site / name).symlink_to(installed / name)
    # The twins' libraries are this machine's only where the wheel has the same sources.
    variables = {**os.environ, "OPBRIDGE_CACHE_DIR": str(fresh_cache.fill(folder / "cache"))}
    variables.pop("PYTHONPATH", None)

    def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [environment / "bin" / program, *arguments]
        return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)

    return run


@pytest.mark.matrix("builds a whole wheel; the suite covers what it holds from an editable install")
def test_the_sources_are_those_of_the_repository(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert sdist.name == f"opbridge-{opbridge.__version__}.tar.gz"
    assert {"LICENSE", "README.md", "CMakeLists.txt", "src/opbridge/native/core/module.cpp"} <= names
    assert not [
        name for name in names if name.startswith((".venv", "build/", "site/")) or name.endswith((".so", ".pyc"))
    ]


@pytest.mark.matrix("builds a whole wheel; the suite covers what it holds from an editable install")
def test_the_wheel_holds_what_runs_and_nothing_else(opbridge_wheel: Path) -> None:
    with zipfile.ZipFile(opbridge_wheel) as archive:
        names = archive.namelist()
    assert f"opbridge-{opbridge.__version__}" in opbridge_wheel.name
    for name in (
        "py.typed",
        "_moved_names.py",
        "include/opbridge/kernel.h",
        "native/torch/module.cpp",
        "cli/templates/cpp/ops.yaml.in",
    ):
        assert f"opbridge/{name}" in names
    assert {name.partition("/")[0] for name in names} == {"opbridge", f"opbridge-{opbridge.__version__}.dist-info"}


@pytest.mark.matrix("builds a whole wheel; the suite covers what it holds from an editable install")
def test_a_new_library_builds_and_runs(stranger: Run) -> None:
    assert stranger("opbridge", "--version").stdout == f"opbridge {opbridge.__version__}\n"
    # What the workflows ask of every wheel that they make.
    ran = stranger("python", "-W", "error", str(ROOT / "tools" / "smoke.py"))
    assert ran.stdout.endswith(": [3. 3.]\n"), ran.stderr


@pytest.mark.matrix("builds a whole wheel; the suite covers what it holds from an editable install")
def test_the_twins_come_compiled(stranger: Run) -> None:
    program = """
import os, tempfile
os.environ["OPBRIDGE_CACHE_DIR"] = cache = tempfile.mkdtemp()
from opbridge.twins.ascend import toolchain as ascend_twin
from opbridge.twins.cuda import toolchain as cuda_twin
for library in (cuda_twin.runtime(), cuda_twin.profile_runtime(), cuda_twin.library("cublas"), ascend_twin.runtime()):
    print(library.parent.name, library.is_file())
print(os.listdir(cache))
"""
    ran = stranger("python", "-W", "error", "-c", program)
    assert ran.stdout == "prebuilt True\n" * 4 + "[]\n", ran.stderr


@pytest.mark.matrix("builds a whole wheel; the suite covers what it holds from an editable install")
def test_frameworks_that_are_not_there_are_named_with_the_command_that_brings_them(stranger: Run) -> None:
    program = """
import numpy, opbridge
try:
    opbridge.load("scaled_add/ops.yaml").scaled_add.torch
except opbridge.OpbridgeError as error:
    print(error)
"""
    stranger("opbridge", "new", "scaled_add")
    assert "pip install torch" in stranger("python", "-c", program).stdout


@pytest.mark.matrix("builds a whole wheel; the suite covers what it holds from an editable install")
def test_the_demo_works_with_numpy_alone(stranger: Run) -> None:
    shown = stranger("opbridge", "demo")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert shown.stdout.count("needs PyTorch: pip install torch") == 2
    assert "torch is not installed: pip install torch" in shown.stdout
    assert "row_norm_kernel: read of 4 bytes of shared memory that this block has not written" in " ".join(
        shown.stdout.split()
    )


def test_the_workflows_run_what_is_there() -> None:
    """A step that names a file names one of the repository's; the rest is the hosts' to try."""
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    assert [file.name for file in workflows] == ["ci.yml", "nightly.yml", "release.yml"]
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for file in workflows:
        jobs = yaml.safe_load(file.read_text())["jobs"]
        commands = " ".join(step.get("run", "") for job in jobs.values() for step in job["steps"])
        named, made = re.findall(r"(?:tools|\.ci)/\w+(?:\.py)?", commands), re.findall(r"make ([\w-]+)", commands)
        assert named or made
        assert [name for name in named if not (ROOT / name).is_file()] == []
        assert set(made) <= set(targets)
