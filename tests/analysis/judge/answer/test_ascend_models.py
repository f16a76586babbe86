"""Answers in Ascend C: built and run on the simulated npu, confined as those for GPUs are."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import ascend_answer
import forked_python
import pytest
from tests.helpers.confinement import needs_confinement

from opbridge.analysis.judge import Judgement
from opbridge.analysis.judge.answer.formats import LAUNCHES, PROJECT, PYTHON, SOURCES, AnswerFormat, answer_format
from opbridge.analysis.judge.answer.submissions import Options
from opbridge.analysis.judge.answer.text_checks import seen_in
from opbridge.analysis.judge.process.prepared import Prepared
from opbridge.analysis.judge.verdict.judge_one import judge_by

Judged = Callable[[Path, str], Judgement]
CALL = "custom_ops_lib.scaled_sum(x, y.T.contiguous().T, 0.5)"
KERNEL = """
#include "kernel_operator.h"
#include "k.h"

__global__ __aicore__ void k(GM_ADDR x, GM_ADDR z, uint32_t count) {
  AscendC::TPipe pipe;
  AscendC::TQue<AscendC::TPosition::VECOUT, 1> out;
  AscendC::GlobalTensor<float> x_gm, z_gm;
  x_gm.SetGlobalBuffer((__gm__ float*)x, count);
  z_gm.SetGlobalBuffer((__gm__ float*)z, count);
  pipe.InitBuffer(out, 1, count * sizeof(float));
  auto local = out.AllocTensor<float>();
  out.EnQue(local);
  local = out.DeQue<float>();
  // Nothing was loaded.
  AscendC::DataCopy(z_gm, local, count);
  out.FreeTensor(local);
}

void start(void* x, void* z, uint32_t count, void* stream) {
  k<<<1, nullptr, stream>>>((GM_ADDR)x, (GM_ADDR)z, count);
}
"""
LAUNCHER = """
#include <torch/extension.h>
#include "torch_npu/csrc/core/npu/NPUStream.h"
#include "k.h"

torch::Tensor run(const torch::Tensor& x, const torch::Tensor& y) {
  auto z = torch::empty_like(x);
  start(x.data_ptr(), z.data_ptr(), x.numel(), c10_npu::getCurrentNPUStream().stream(false));
  return z;
}
PYBIND11_MODULE(launched, m) { m.def("run", &run); }
"""
CALLER = """import torch
import launched
class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return launched.run(x, y)
"""
LAUNCHING = {
    "entry": {"model": "ModelNew.py::ModelNew"},
    "sources": [
        {"path": "ModelNew.py", "content": CALLER},
        {"path": "kernel/k.h", "content": "void start(void* x, void* z, unsigned count, void* stream);\n"},
        {"path": "kernel/k.cpp", "content": KERNEL},
        {"path": "kernel/bind.cpp", "content": LAUNCHER},
    ],
}
BUILT = """
import json
import sys
from pathlib import Path
from opbridge.analysis.judge.answer.ascend_models import project_model
project_model(json.loads(Path("texts.json").read_text()), Path("project").absolute())
"""


@pytest.fixture(scope="session")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With what most answers build in the cache, where no answer could leave it for the next."""
    needs_confinement()
    folder = tmp_path_factory.mktemp("task")
    (folder / "reference.py").write_text(ascend_answer.REFERENCE)
    (folder / "texts.json").write_text(json.dumps(ascend_answer.texts()))
    subprocess.run([forked_python.PYTHON, "-c", BUILT], cwd=folder, check=True)
    return folder / "reference.py"


def test_what_is_right_is_right(judged: Judged, task: Path) -> None:
    found = judged(task, ascend_answer.answer())
    assert (found.verdict.value, found.reasons, found.holds_for) == ("right", (), "all shapes"), found


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("change", "verdict", "check", "place"),
    [
        (("DataCopyPad(z_, z,", "DataCopyPad(z_[8], z,"), "wrong", "out-of-bounds", "scaled_sum_custom.cpp:31"),
        (("Muls(z, x,", "Muls(z, w,"), "broken", "build", "scaled_sum_custom.cpp:22"),
        ((CALL, "x * 0.5 + y"), "cheating", "operators", ""),
        ((CALL, f"({CALL}, y.add(x, alpha=0.5))[1]"), "cheating", "kernels", ""),
    ],
    ids=["wrong", "does not compile", "is PyTorch's", "is for show"],
)
def test_what_is_not_is_named(
    judged: Judged, task: Path, change: tuple[str, str], verdict: str, check: str, place: str
) -> None:
    found = judged(task, ascend_answer.answer(change))
    (reason,) = found.reasons
    assert (found.verdict.value, reason.check, reason.place) == (verdict, check, place), found


@pytest.mark.matrix("test_what_is_right_is_right")
def test_what_launches_its_kernels_itself(prepared: Prepared, task: Path, tmp_path: Path) -> None:
    (tmp_path / "answer.json").write_text(json.dumps(LAUNCHING))
    found = judge_by(prepared, task, tmp_path / "answer.json", Options(timeout=300))
    (reason,) = found.reasons
    assert (found.verdict.value, reason.check, reason.place) == ("wrong", "uninitialised-local", "k.cpp:16"), found


def test_a_device_follows_from_how_an_answer_is_written() -> None:
    source = ascend_answer.answer()
    assert answer_format(".py", source) is PROJECT
    assert answer_format(".py", source.replace("kernel_src", "other")) is PYTHON
    assert answer_format(".cu", "") is SOURCES
    assert answer_format(".json", "{}") is LAUNCHES


@pytest.mark.parametrize(
    ("form", "text", "verdict", "place"),
    [
        (PROJECT, ascend_answer.answer(("import torch_npu", "import sys; sys._getframe()")), "cheating", "model.py:3"),
        (LAUNCHES, json.dumps(LAUNCHING), None, None),
        (LAUNCHES, json.dumps(LAUNCHING).replace("import torch", "import ("), "broken", "ModelNew.py:1"),
        (LAUNCHES, json.dumps(LAUNCHING | {"entry": {"model": "other.py"}}), "broken", "answer.json:1"),
        (LAUNCHES, "{", "broken", "answer.json:1"),
    ],
)
def test_texts_within_an_answer_are_looked_at(
    form: AnswerFormat, text: str, verdict: str | None, place: str | None
) -> None:
    found = seen_in(form, f"answer{form.suffixes[0]}", text)
    assert (found and (found.verdict.value, found.reasons[0].place)) == (verdict and (verdict, place))
