"""Tasks and answers of GPU MODE, as they are written there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opbridge.analysis.judge import Judgement, Verdict
from opbridge.analysis.judge.answer.manifest_operators import is_manifest
from opbridge.analysis.judge.task.gpu_mode import answer_of, task_of
from opbridge.base.errors import InputError

TASK = """
files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
tests:
  - {"size": 127, "seed": 4242}
benchmarks:
  - {"size": 256, "seed": 31232}
  - {"size": 4096, "seed": 2146}
"""
REFERENCE = """
import torch
from task import input_t, output_t
from utils import (
    DeterministicContext,
    make_match_reference,
)

def ref_kernel(data: input_t) -> output_t:
    with DeterministicContext():
        x, y, output = data
        output[...] = x + y
        return output

def generate_input(size: int, seed: int) -> input_t:
    gen = torch.Generator(device="cuda")
    gen.manual_seed(seed)
    x = torch.randn(size, size, device='cuda', dtype=torch.float16, generator=gen)
    return x, x * 2, torch.empty(size, size, device="cuda", dtype=torch.float16)

check_implementation = make_match_reference(ref_kernel)
"""
KERNEL = """
from task import input_t, output_t
import torch
from torch.utils.cpp_extension import load_inline
source = '''
#include <cuda_fp16.h>
__global__ void kernel(const __half* x, const __half* y, __half* z, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = __hadd(x[i], y[i]);
}
void sum(torch::Tensor x, torch::Tensor y, torch::Tensor z) {
  const int n = x.numel();
  kernel<<<(n + 255) / 256, 256>>>((const __half*)x.data_ptr(), (const __half*)y.data_ptr(), (__half*)z.data_ptr(), n);
}
'''
extension = load_inline(name="sum", cpp_sources="void sum(torch::Tensor x, torch::Tensor y, torch::Tensor z);",
                        cuda_sources=source, functions=["sum"])

def custom_kernel(data: input_t) -> output_t:
    x, y, output = data
    extension.sum(x, y, output)
    return output
"""


def written(folder: Path, task: str = TASK, reference: str = REFERENCE, answer: str = KERNEL) -> tuple[Path, Path]:
    for name, text in (("task.yml", task), ("reference.py", reference), ("submission.py", answer)):
        (folder / name).write_text(text)
    return folder / "task.yml", folder / "submission.py"


def test_a_task_is_one_of_models(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    task, answer = written(tmp_path)
    assert not is_manifest(task)
    known: dict[str, Any] = {}
    exec(task_of(task), known)
    assert known["size"] == 256
    (data,) = known["get_inputs"]()
    assert data[2].isnan().all(), "memory that nobody wrote holds no result of an earlier call"
    before = data[2].clone()
    assert torch.equal(known["Model"]()(data), data[0] + data[1])
    assert torch.equal(data[2].view(torch.int16), before.view(torch.int16)), "it writes to a copy"
    assert answer_of(answer).splitlines()[: KERNEL.count("\n")][-4:] == KERNEL.splitlines()[-4:], "lines stay"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"task": "tests: []"}, "expected `tests` or `benchmarks`"),
        ({"task": "tests:\n  - {sizes: [1, 2]}"}, "expected a number or a text"),
        ({"reference": "from task import Config"}, "imports Config from task.py"),
        ({"reference": "def"}, "is not Python"),
    ],
)
def test_a_task_that_cannot_be_judged(tmp_path: Path, changed: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        task_of(written(tmp_path, **changed)[0])


@pytest.mark.matrix("the texts that are judged are run above")
@pytest.mark.parametrize(("bound", "verdict"), [("i < n", Verdict.RIGHT), ("i < n - 1", Verdict.WRONG)])
def test_a_submission_is_judged(
    tmp_path: Path, judged_files: Callable[[Path, Path], Judgement], bound: str, verdict: Verdict
) -> None:
    found = judged_files(*written(tmp_path, answer=KERNEL.replace("i < n", bound)))
    assert found.verdict is verdict, found
