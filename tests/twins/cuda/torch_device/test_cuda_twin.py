"""PyTorch's `cuda` by the twin: the tests themselves stand in `inside`, and run in a process of their own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from forked_python import PYTHON
from subprocesses import python, succeed

INSIDE = Path(__file__).parent / "inside"
KERNELS = Path(__file__).parents[4] / "benchmarks" / "kernels"


def pass_inside(*names: str, **variables: str) -> None:
    command = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0"]
    files = [str(INSIDE / name) for name in names]
    done = subprocess.run([*command, *files], capture_output=True, text=True, env=os.environ | variables)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_device_and_an_extension() -> None:
    """One process and one build for all of it.  60 s where nothing is cached."""
    pass_inside("device.py", "extension.py", "sparse.py", "stable.py")


@pytest.mark.matrix("test_the_device_and_an_extension; tests/authoring/test_extensions.py binds functions by pybind11")
def test_an_extension_that_pybind11_binds() -> None:
    pass_inside("extension.py", BOUND_BY_PYBIND11="1")


@pytest.mark.matrix("stable.py builds such an extension of one source")
def test_an_extension_of_two_sources() -> None:
    pass_inside("stable_and_host.py")


def test_a_program_needs_not_know(tmp_path: Path) -> None:
    """By `twin run` the device is there as soon as PyTorch is, and in processes that the program starts."""
    (tmp_path / "script.py").write_text(
        "import subprocess, sys, torch\n"
        "x = torch.ones(3).cuda()\n"
        "print(torch.cuda.is_available(), x.sum().item())\n"
        "if len(sys.argv) == 1: subprocess.run([sys.executable, __file__, 'again'])\n"
    )
    command = [PYTHON, "-m", "opbridge", "twin", "run", "script.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=os.environ)
    assert run.stdout == "True 3.0\n" * 2, run.stderr


def test_a_device_that_is_not_visible_is_not_there() -> None:
    program = "import opbridge.cuda_twin, torch; print(torch.cuda.device_count(), torch.cuda.is_available())"
    assert succeed(program, env=os.environ | {"CUDA_VISIBLE_DEVICES": ""}) == "0 False\n"


def test_a_simulated_npu_beside_it() -> None:
    program = """
import torch, opbridge.cuda_twin, opbridge.npu
x, y = torch.ones(3, device="cuda"), torch.ones(3, device="npu")
print(torch.accelerator.current_accelerator(), x.sum().item(), y.sum().item(), x.cpu().npu().device)
for mixed in (lambda: x + y, lambda: x.npu(), lambda: y.cuda()):
    try:
        mixed()
    except RuntimeError as error:
        print(str(error).splitlines()[0])
"""
    done = python(program)
    assert done.stderr == "", "both say the same to PyTorch, which warns of what it is told twice"
    there, mixed, *copied = done.stdout.splitlines()
    assert there == "npu 3.0 3.0 npu:0"
    assert "Expected all tensors to be on the same device" in mixed
    assert [line.partition(";")[2] for line in copied] == [" copy it through the CPU"] * 2


def test_gradients_beside_a_simulated_npu() -> None:
    """PyTorch computes them on one accelerator of a process alone, and on what is none."""
    program = """
import torch, opbridge.cuda_twin, opbridge.npu
for name in ("cuda", "npu", "cuda"):
    x = torch.arange(6.0, device=name).reshape(2, 3).requires_grad_()
    ((x @ x.T).sum() + x[0].sum()).backward()
    sparse = torch.eye(3, device=name).to_sparse()
    torch.sparse.mm(sparse, x.T).sum().backward()
    print(x.grad.device, x.grad.tolist())
mixed = torch.ones(2, device="cuda", requires_grad=True)
mixed.cpu().npu().mul(3).sum().backward()
print(mixed.grad.tolist(), torch.accelerator.is_available())
"""
    done = python(program)
    gradient = [[8.0, 12.0, 16.0], [7.0, 11.0, 15.0]]
    expected = [*(f"{name}:0 {gradient}" for name in ("cuda", "npu", "cuda")), "[3.0, 3.0] True"]
    assert done.stdout.splitlines() == expected, done.stderr


@pytest.mark.matrix("tests/verify/check/test_check_processes.py::test_kernels_for_cuda_are_checked_on_the_twin")
def test_a_kernel_for_gpus_alone_is_checked_against_its_twin() -> None:
    """There is none for the CPU that it could be held against."""
    opbridge = [PYTHON, "-m", "opbridge"]
    check = ["check", "--device", "cuda", "--framework", "torch", "--op", "bare_add", str(KERNELS / "gpu.yaml")]
    done = subprocess.run([*opbridge, "twin", "run", *opbridge, *check], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "values      ✓ as the kernel for cuda-twin" in done.stdout
