"""examples/multikernelbench: an answer is built, run and judged behind the interface that MultiKernelBench has."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = ROOT / "tests" / "sources" / "ascend" / "scaled_sum"

BENCHMARK = {
    "backends/backend_registry.py": "class Backend: ...\ndef register_backend(name):\n    return lambda one: one\n",
    "utils/cheating_detection.py": "def detect_python_kernel_cheating(code):\n    return False, None\n",
    "utils/correctness.py": (
        "def execute_template(synchronize, device, context):\n"
        "    given = [x.to(device) for x in context['get_inputs']()]\n"
        "    ours, theirs = context['ModelNew']()(*given), context['Model']()(*given)\n"
        "    synchronize()\n"
        "    return bool((ours == theirs).all()), ''\n"
    ),
}
BINDING = """
#include <torch/extension.h>
#include "pytorch_npu_helper.hpp"

at::Tensor scaled_sum(const at::Tensor& x, const at::Tensor& y, double factor) {
  at::Tensor z = at::empty_like(x);
  EXEC_NPU_CMD(aclnnScaledSumCustom, x, y, factor, z);
  return z;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scaled_sum", &scaled_sum); }
"""
MODEL = """
import torch
import torch_npu
import custom_ops_lib
class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return custom_ops_lib.scaled_sum(x, y.T.contiguous().T, 0.5)
"""
REFERENCE = """
import torch
class Model(torch.nn.Module):
    def forward(self, x, y):
        return x * 0.5 + y
def get_inputs():
    return [torch.arange(24.0).view(4, 6), torch.ones(4, 6)]
"""
JUDGE = """
import sys
from backends.ascendc_twin_backend import AscendTwinBackend
backend = AscendTwinBackend()
print(backend.compile(open("answer.py").read(), "scaled_sum"))
print(backend.correctness_execution(open("reference.py").read()))
print(AscendTwinBackend().compile("kernel_src =", "scaled_sum")[0])
"""


def _of_project(path: str) -> str:
    text = (
        (PROJECT / path).read_text().replace("ScaledSum", "ScaledSumCustom").replace("scaled_sum", "scaled_sum_custom")
    )
    return text.replace("ge::DT_FLOAT, ge::DT_FLOAT16", "ge::DT_FLOAT").replace(
        "ge::FORMAT_ND, ge::FORMAT_ND", "ge::FORMAT_ND"
    )


def test_an_answer_is_judged(tmp_path: Path) -> None:
    answer = {
        "host_tiling_src": _of_project("op_host/scaled_sum_tiling.h"),
        "host_operator_src": _of_project("op_host/scaled_sum.cpp"),
        "kernel_src": _of_project("op_kernel/scaled_sum.cpp"),
        "python_bind_src": BINDING,
        "model_src": MODEL,
    }
    files = {
        **BENCHMARK,
        "judge.py": JUDGE,
        "reference.py": REFERENCE,
        "answer.py": "".join(f"{name} = {text!r}\n" for name, text in answer.items()),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    for name in ("ascendc_twin_backend.py", "pytorch_npu_helper.hpp"):
        shutil.copy(ROOT / "examples" / "multikernelbench" / name, tmp_path / "backends")
    command = [sys.executable, "-m", "opbridge", "twin", "run", sys.executable, "judge.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=None)
    assert done.stdout.splitlines() == ["(True, None)", "(True, '')", "False"], done.stdout + done.stderr
