"""What opbridge's wheel brings for an environment is what programs there take, and names no folder of the build's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from forked_python import PYTHON
from subprocesses import succeed

from opbridge.build.toolchains.torch_install import TorchInstall

pytestmark = pytest.mark.matrix("tests/frameworks and tests/twins build and use the same modules")

SCRIPT = Path(__file__).parents[2] / "tools" / "ship_modules.py"

TAKEN = """
import sys
from pathlib import Path
from opbridge.frameworks import native_modules

native_modules.BROUGHT = Path(sys.argv[1])

import torch
import opbridge.cuda_twin, opbridge.npu
from opbridge.frameworks.jax import handler
from opbridge.frameworks.torch.native import load_native

handler.register_handler()
assert [torch.ones(2, device=name).tolist() for name in ("cuda", "npu")] == [[1, 1], [1, 1]]
for module in (load_native(), opbridge.twins.cuda.torch_device.native.load(),
opbridge.twins.ascend.torch_device.native.load(), *handler._loaded):
    print(module.__spec__.origin)
"""


@pytest.fixture(scope="module")
def brought(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("brought")
    subprocess.run([PYTHON, SCRIPT, folder], check=True)
    return folder


def test_programs_take_all_that_was_brought(brought: Path) -> None:
    taken = succeed(TAKEN, str(brought)).split()
    assert sorted(taken) == sorted(map(str, brought.iterdir()))


def test_no_library_is_looked_for_where_pytorch_was(brought: Path) -> None:
    of_the_build = str(TorchInstall.found().lib).encode()
    assert not [file for file in brought.iterdir() if of_the_build in file.read_bytes()]
