"""What is written in C++ compiles for aarch64 without a warning: the headers, and the core."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from tests.cross.conftest import COMPILER

PACKAGE = Path(__file__).parents[2] / "src" / "opbridge"
OF_CUDA = {"cuda.h", "cuda_grid.h", "cuda_half.h", "cuda_row.h", "cuda_view.h"}
OF_ASCEND = {"launch.h", "npu_grid.h", "npu_rows.h", "npu_vectors.h", "npu_view.h"}
ALL = (path.name for path in (PACKAGE / "include" / "opbridge").glob("*.h"))
HEADERS = sorted(name for name in ALL if name not in OF_CUDA | OF_ASCEND)
CORE = sorted((PACKAGE / "native" / "core").glob("*.cpp"))
FOREIGN = [sysconfig.get_path("include"), np.get_include()]


def compiles(*words: str, text: str = "") -> None:
    own = (f"-I{folder}" for folder in (PACKAGE / "include", PACKAGE / "native"))
    foreign = (word for folder in FOREIGN for word in ("-isystem", folder))
    command = [COMPILER, "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *own, *foreign, *words]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("aarch64")
def test_all_headers() -> None:
    compiles("-x", "c++", "-", text="".join(f"#include <opbridge/{header}>\n" for header in HEADERS))


@pytest.mark.matrix("test_all_headers; `make lint` compiles each by itself for this machine")
@pytest.mark.usefixtures("aarch64")
@pytest.mark.parametrize("header", HEADERS)
def test_a_header_by_itself(header: str) -> None:
    compiles("-x", "c++", "-", text=f"#include <opbridge/{header}>\n")


# The twins' runtimes are built by the tests of the twins, with the same warnings.
@pytest.mark.usefixtures("aarch64")
def test_the_core() -> None:
    # MindSpore's own strings are those of an older standard library.
    compiles("-D_GLIBCXX_USE_CXX11_ABI=0", *map(str, CORE))
