"""What an answer is predicted to take beside its reference."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.helpers.confinement import needs_confinement

from opbridge.analysis.judge.process.prepared import Prepared
from opbridge.analysis.judge.verdict.costs import costs, costs_by
from opbridge.analysis.profile.pytorch.operator_times import START
from opbridge.base.errors import InputError, KernelError
from opbridge.verify.check import process_limits

TASK = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.sigmoid(x) * x + 1
def get_inputs():
    return [torch.rand(8192, 8192)]
def get_init_inputs():
    return []
"""
ANSWER = """
import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.silu(x).add_(1)
"""


def task_and_answer(folder: Path) -> tuple[Path, Path]:
    """The second is still to be written."""
    needs_confinement()
    task = folder / "task.py"
    task.write_text(TASK)
    return task, folder / "answer.py"


@pytest.mark.matrix("test_kernels_of_its_own_are_found_where_only_it_can_write predicts an answer")
def test_fewer_passes_over_memory_are_predicted_to_be_faster(tmp_path: Path) -> None:
    task, answer = task_and_answer(tmp_path)
    answer.write_text(ANSWER)
    found = costs(task, answer, "a100")
    assert [call.name for call in found.reference.calls if call.bytes] == ["sigmoid", "mul", "add"]
    assert [call.name for call in found.answer.calls if call.bytes] == ["silu", "add_"]
    # Seven passes beside four.
    reference, answered = (one.seconds - START for one in (found.reference, found.answer))
    assert reference / answered == pytest.approx(7 / 4, rel=0.01)
    assert found.speedup == found.reference.seconds / found.answer.seconds
    assert str(found).startswith("predicted for NVIDIA A100 SXM4 80 GB, never measured")


def test_an_answer_that_cannot_run_is_said_to_be_one(prepared: Prepared, tmp_path: Path) -> None:
    task, answer = task_and_answer(tmp_path)
    answer.write_text(ANSWER.replace("silu(x)", "no_such_function(x)"))
    with pytest.raises(KernelError, match=r"answer\.py cannot be counted: AttributeError"):
        costs_by(prepared, task, answer, "a100")


KERNEL = """
import torch
from torch.utils.cpp_extension import load_inline
SOURCE = '''
#include <cublas_v2.h>
__global__ void halve(float* x) { x[blockIdx.x * (long)blockDim.x + threadIdx.x] *= 0.5f; }
torch::Tensor halved(torch::Tensor x) {
  auto out = torch::empty_like(x);
  LIBRARY
  halve<<<x.numel() / 256, 256>>>(out.data_ptr<float>());
  return out;
}
'''
halved = load_inline("halved", "torch::Tensor halved(torch::Tensor x);", SOURCE, functions=["halved"])
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return halved.halved(x)
"""


def test_kernels_of_its_own_are_found_where_only_it_can_write(prepared: Prepared, tmp_path: Path) -> None:
    task, answer = task_and_answer(tmp_path)
    answer.write_text(KERNEL.replace("LIBRARY", "").replace("#include <cublas_v2.h>", ""))
    (kernel,) = costs_by(prepared, task, answer, "a100").answer.kernels
    assert kernel.operations["float"] == 8192 * 8192
    assert kernel.integers > 0


def test_what_a_library_computes_is_not_left_out_in_silence(prepared: Prepared, tmp_path: Path) -> None:
    task, answer = task_and_answer(tmp_path)
    answer.write_text(KERNEL.replace("LIBRARY", "cublasHandle_t handle; cublasCreate(&handle); cublasDestroy(handle);"))
    with pytest.raises(KernelError, match=r"answer\.py cannot be counted: it uses cublas"):
        costs_by(prepared, task, answer, "a100")


def test_memory_is_counted_where_it_is_used(
    prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A limit of 1 GiB: a test must not fill half of the machine.
    monkeypatch.setattr(process_limits, "_most_memory", lambda: 1 << 30)
    task, answer = task_and_answer(tmp_path)
    fills = "import time; held = b'x' * (3 << 29); time.sleep(600)\n"
    answer.write_text(ANSWER.partition("return")[0] + fills)
    with pytest.raises(KernelError, match="it uses more than half of this machine's memory"):
        costs_by(prepared, task, answer, "a100")


def test_an_unknown_chip_is_refused_first(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no chip is called"):
        costs(tmp_path / "nowhere.py", tmp_path / "nowhere.py", "a101")
