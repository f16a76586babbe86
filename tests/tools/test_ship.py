"""What a wheel of opbridge includes for an environment is what programs there use, and names no folder of the build."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from forked_python import PYTHON
from subprocesses import succeed

from opbridge.build.toolchains.torch_install import TorchInstall

matrix = pytest.mark.matrix("tests/build/toolchains/test_prebuilt.py; tests/frameworks builds the same modules")

SCRIPT = Path(__file__).parents[2] / "tools" / "ship.py"
LARGEST = 25 << 20

USED = """
import os, sys
from pathlib import Path
from opbridge.build.toolchains import prebuilt

prebuilt.FOLDER = Path(sys.argv[1])
os.environ["PATH"] = ""

import torch
import opbridge.cuda_twin, opbridge.npu
from opbridge.frameworks.jax import handler
from opbridge.frameworks.torch import native
from opbridge.twins.cuda import toolchain
from opbridge.twins.cuda.nvcc.toolkit import NAMES_OF_LIBRARIES

native._prebuilt = {prebuilt.FOLDER: None}
handler.register_handler()
assert [torch.ones(2, device=name).tolist() for name in ("cuda", "npu")] == [[1, 1], [1, 1]]
for module in (native.load_native(), opbridge.twins.cuda.torch_device.native.load(),
opbridge.twins.ascend.torch_device.native.load(), *handler._loaded):
    print(module.__spec__.origin)
for library in (toolchain.runtime(), toolchain.profile_runtime(), opbridge.twins.ascend.toolchain.runtime(),
toolchain.build(toolchain.bindings_request()).path, *map(toolchain.library, NAMES_OF_LIBRARIES)):
    print(library)
"""


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shipped")
    subprocess.run([PYTHON, SCRIPT, folder], check=True)
    return folder


WITHOUT_THE_CORE = """
import runpy, sys

sys.modules["opbridge._core"] = None
runpy.run_path(sys.argv[1])
"""


def test_it_can_be_read_before_the_core_is_compiled() -> None:
    succeed(WITHOUT_THE_CORE, str(SCRIPT))


def libraries(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.so"))


@matrix
def test_programs_use_all_that_is_included_without_a_compiler(shipped: Path) -> None:
    used = succeed(USED, str(shipped)).split()
    assert sorted(used) == sorted(map(str, libraries(shipped)))


@matrix
def test_no_library_is_looked_for_where_pytorch_was(shipped: Path) -> None:
    of_the_build = str(TorchInstall.found().lib).encode()
    assert not [file for file in libraries(shipped) if of_the_build in file.read_bytes()]


@matrix
def test_it_is_small(shipped: Path) -> None:
    assert sum(file.stat().st_size for file in libraries(shipped)) < LARGEST
