"""What an answer is predicted to take beside its reference."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.helpers.confinement import needs_confinement

from opbridge.errors import InputError, KernelError
from opbridge.judging.costing import costs

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


def test_fewer_passes_over_memory_are_predicted_to_be_faster(tmp_path: Path) -> None:
    needs_confinement()
    task, answer = tmp_path / "task.py", tmp_path / "answer.py"
    task.write_text(TASK)
    answer.write_text(ANSWER)
    found = costs(task, answer, "a100")
    assert [call.name for call in found.reference.calls if call.bytes] == ["sigmoid", "mul", "add"]
    assert [call.name for call in found.answer.calls if call.bytes] == ["silu", "add_"]
    # Seven passes beside four.
    assert found.speedup == pytest.approx(7 / 4, rel=0.01)
    assert str(found).startswith("predicted for NVIDIA A100 SXM4 80 GB, never measured")


def test_an_answer_that_cannot_run_is_said_to_be_one(tmp_path: Path) -> None:
    needs_confinement()
    task, answer = tmp_path / "task.py", tmp_path / "answer.py"
    task.write_text(TASK)
    answer.write_text(ANSWER.replace("silu(x)", "no_such_function(x)"))
    with pytest.raises(KernelError, match=r"answer\.py cannot be counted: AttributeError"):
        costs(task, answer, "a100")


def test_an_answer_has_no_more_memory_than_when_it_is_judged(tmp_path: Path) -> None:
    needs_confinement()
    task, answer = tmp_path / "task.py", tmp_path / "answer.py"
    task.write_text(TASK)
    limit = "resource.getrlimit(resource.RLIMIT_DATA)[0]"
    answer.write_text(ANSWER.partition("return")[0] + f"import resource; raise MemoryError({limit})\n")
    with pytest.raises(KernelError, match=r"answer\.py cannot be counted: MemoryError: \d+$") as refused:
        costs(task, answer, "a100")
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert int(str(refused.value).split()[-1]) <= max(4 << 30, machine // 2)


def test_an_unknown_chip_is_refused_first(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no chip is called"):
        costs(tmp_path / "nowhere.py", tmp_path / "nowhere.py", "a101")
