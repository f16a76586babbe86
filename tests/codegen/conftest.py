"""Generated backends, built without opbridge; kept in the user's cache, since that takes a minute."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from tests.codegen.compiling import WARNINGS, compiler, libraries

from opbridge.build.cache import Cache, Dependencies, KeyBuilder
from opbridge.build.toolchains.torch_install import TorchInstall
from opbridge.codegen.generator import sources
from opbridge.codegen.inputs import Inputs, Wish

SAMPLE = Path(__file__).parent / "data" / "sample"


@pytest.fixture(scope="session")
def sample_sources() -> Mapping[str, str]:
    declared = ("native.yaml", "derivatives.yaml", "launched.yaml", "launched_derivatives.yaml")
    return sources(Inputs.read([SAMPLE / name for name in declared], Wish()).backend())


@pytest.fixture(scope="session")
def sample_package(sample_sources: Mapping[str, str]) -> Path:
    """The sample backend with what its authors write, built by its own setup.py."""
    files = dict(sample_sources)
    files["Helpers.h"] = (SAMPLE / "output_sizes.h").read_text()
    for name in ("kernels.cpp", "library.cpp"):
        files[f"kernels/{name}"] = (SAMPLE / name).read_text()

    def build_in(folder: Path) -> Dependencies:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
        settings = {"CFLAGS": " ".join(("-O0", *WARNINGS)), "MAX_JOBS": str(os.cpu_count())}
        subprocess.run(command, cwd=folder, env={**os.environ, **settings}, check=True)
        shutil.rmtree(folder / "build")
        return Dependencies()

    key = KeyBuilder("sample package").add("torch", TorchInstall.found().version).add("recipe", Path(__file__))
    for name, text in files.items():
        key.add(name, text)
    return Cache().fetch(key.key(), build_in).path


@pytest.fixture(scope="session")
def build_backend() -> Callable[[Mapping[str, str]], Path]:
    """Compiles texts by file name to one library."""
    torch = TorchInstall.found()

    def build(files: Mapping[str, str]) -> Path:
        # One translation unit: reading PyTorch's headers is most of the time.
        units = "".join(f'#include "{name}"\n' for name in files if name.endswith(".cpp"))

        def compile_into(folder: Path) -> Dependencies:
            for name, text in {**files, "all.cc": units}.items():
                (folder / name).write_text(text)
            command = [*compiler(), "-shared", "all.cc", *libraries(), "-o", "backend.so"]
            subprocess.run(command, cwd=folder, check=True)
            return Dependencies()

        key = KeyBuilder("sample backend").add("torch", torch.version).add("recipe", Path(__file__))
        for name, text in files.items():
            key.add(name, text)
        return Cache().fetch(key.key(), compile_into).path / "backend.so"

    return build
