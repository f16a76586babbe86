"""The simulated device: the tests themselves stand in the files of `inside`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from subprocesses import python, succeed


@pytest.mark.parametrize("names", [("tensors.py", "functions.py"), ("training.py", "operators.py")])
def test_the_device(inside: Callable[..., None], names: tuple[str, str]) -> None:
    inside(*names)


def test_the_stand_in_for_torch_npu(inside: Callable[..., None]) -> None:
    # Importing opbridge.npu, this process would have the device for good.
    code = "from opbridge.twins.ascend.stand_in_package import folder; print(folder())"
    asked = succeed(code)
    inside("stand_in.py", "fused.py", "inference.py", "programs.py", "contributed.py", PYTHONPATH=asked.strip())


def fails(code: str, **variables: str) -> str:
    done = python(code, env=variables or None)
    assert done.returncode != 0
    return done.stderr


def test_the_host_cannot_read_the_device() -> None:
    """The process ends, with a sentence and the line of Python."""
    said = fails(
        "import ctypes, torch, opbridge.npu\n"
        "x = torch.arange(10, dtype=torch.float32).to('npu:1')\n"
        "ctypes.string_at(x.data_ptr() + 4, 1)\n"
    )
    assert "memory of the device npu:1 [host-access]" in said
    assert "byte 4 of the 40 bytes" in said
    assert "tensor.cpu()" in said
    assert 'File "<string>", line 3' in said


def test_a_number_of_devices_that_is_none() -> None:
    code = "import os; os.environ['OPBRIDGE_NPU_DEVICES'] = 'many'; import opbridge.npu"
    assert "OPBRIDGE_NPU_DEVICES is 'many'; expected the number of simulated devices, 1 to 16" in fails(code)


def test_another_backend_is_not_replaced() -> None:
    code = "import torch; torch.utils.rename_privateuse1_backend('other'); import opbridge.npu"
    assert "PyTorch takes one additional device in a process, and it is 'other' already" in fails(code)
