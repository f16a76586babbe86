"""An answer in Ascend C, as MultiKernelBench has them: z = x / 2 + y by a project's operator, and its task."""

from __future__ import annotations

from pathlib import Path

_PROJECT = Path(__file__).parents[1] / "twins" / "ascend" / "projects" / "scaled_sum"
_ONE_TYPE = (
    ("ScaledSum", "ScaledSumCustom"),
    ("scaled_sum", "scaled_sum_custom"),
    ("ge::DT_FLOAT, ge::DT_FLOAT16", "ge::DT_FLOAT"),
    ("ge::FORMAT_ND, ge::FORMAT_ND", "ge::FORMAT_ND"),
)

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
rows = 16
columns = 96
def get_inputs():
    return [torch.rand(rows, columns), torch.rand(rows, columns)]
def get_init_inputs():
    return []
"""


def texts() -> dict[str, str]:
    return {
        "project_json_src": "[]",
        "host_tiling_src": _of_project("op_host/scaled_sum_tiling.h"),
        "host_operator_src": _of_project("op_host/scaled_sum.cpp"),
        "kernel_src": _of_project("op_kernel/scaled_sum.cpp"),
        "python_bind_src": BINDING,
        "model_src": MODEL,
    }


def answer(*changes: tuple[str, str]) -> str:
    """Its text, with each change in one of its parts."""
    whole = texts()
    for before, after in changes:
        (part,) = (name for name, text in whole.items() if before in text)
        whole[part] = whole[part].replace(before, after)
    return "".join(f"{name} = {text!r}\n" for name, text in whole.items())


def _of_project(path: str) -> str:
    text = (_PROJECT / path).read_text()
    for before, after in _ONE_TYPE:
        text = text.replace(before, after)
    return text
