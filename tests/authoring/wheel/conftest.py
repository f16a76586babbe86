"""Somebody else's machine: an environment with opbridge and wheels of kernels installed, and no compiler on PATH."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from opbridge.authoring.wheel.build_wheel import Made, Order, make_wheel
from opbridge.build.cache import Cache

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
SourcesIn = Callable[..., Path]
Stranger = Callable[..., subprocess.CompletedProcess[str]]


def _sources_in(folder: Path, namespace: str = "mylib", **replaced: str) -> Path:
    """A copy of the library in a folder of its own, under a namespace, with words of its kernels replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    code = (HERE / "mylib.cpp").read_text()
    for old, new in replaced.items():
        code = code.replace(old, new)
    (folder / "mylib.cpp").write_text(code)
    manifest = folder / "ops.yaml"
    manifest.write_text((HERE / "ops.yaml").read_text().replace("namespace: mylib", f"namespace: {namespace}"))
    return manifest


@pytest.fixture(scope="session")
def sources_in() -> SourcesIn:
    return _sources_in


@pytest.fixture(scope="session")
def mylib(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A wheel that brings the adapter for the PyTorch at hand."""
    manifest = _sources_in(tmp_path_factory.mktemp("mylib"))
    order = Order(manifest, "1.2", license_files=(ROOT / "LICENSE",), adapters_for=(sys.executable,))
    return make_wheel(order, tmp_path_factory.mktemp("wheels"), Cache())


@pytest.fixture(scope="session")
def second_version(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Another version of the same sources under another namespace, which adds twice as much, and without adapter."""
    manifest = _sources_in(tmp_path_factory.mktemp("next"), "mylib_next", **{"T(alpha)": "T(2 * alpha)"})
    return make_wheel(Order(manifest, "2.0"), tmp_path_factory.mktemp("wheels"), Cache())


@pytest.fixture(scope="session")
def environment(
    tmp_path_factory: pytest.TempPathFactory, opbridge_wheel: Path, mylib: Made, second_version: Made
) -> Path:
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    # A path in a .pth file brings the frameworks there, but not the editable install of opbridge, a .pth file itself.
    (site / "frameworks.pth").write_text(sysconfig.get_path("purelib"))
    install = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install"]
    wheels = map(str, (opbridge_wheel, mylib.path, second_version.path))
    subprocess.run([*install, "--quiet", "--no-index", "--ignore-installed", "--no-deps", *wheels], check=True)
    return folder


@pytest.fixture
def stranger(environment: Path, tmp_path: Path) -> Stranger:
    """Runs a program there, and checks that it used what was installed there."""

    def run(program: str, *arguments: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
        variables = {"PATH": str(environment / "bin"), "HOME": str(tmp_path), "PYTHONWARNINGS": "error"}
        proof = "\nimport opbridge, shutil\nassert not any(map(shutil.which, ('g++', 'c++', 'clang++', 'gcc', 'cc')))\n"
        proof += f"assert opbridge.__file__.startswith({str(environment)!r}), opbridge.__file__\n"
        result = subprocess.run(
            [environment / "bin" / "python", "-c", program + proof, *map(str, arguments)],
            cwd=tmp_path,
            env=variables,
            capture_output=True,
            text=True,
        )
        assert not check or result.returncode == 0, result.stderr
        return result

    return run
