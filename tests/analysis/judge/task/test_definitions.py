"""Tasks and answers of flashinfer-bench, as they are written there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opbridge.analysis.judge import Judgement, Verdict
from opbridge.analysis.judge.task.definitions import Definition, answer_of
from opbridge.base.errors import InputError

DEFINITION: dict[str, Any] = {
    "name": "scaled_relu_d256",
    "op_type": "activation",
    "axes": {"M": {"type": "var"}, "N": {"type": "const", "value": 256}},
    "inputs": {"x": {"shape": ["M", "N"], "dtype": "float32"}, "s": {"shape": None, "dtype": "float32"}},
    "outputs": {"y": {"shape": ["M", "N"], "dtype": "float32"}},
    "reference": "import torch\n\ndef run(x, s):\n    return torch.relu(x) * s\n",
}
WORKLOAD = {"axes": {"M": 32}, "inputs": {"x": {"type": "random"}, "s": {"type": "scalar", "value": 2.5}}}
KERNEL = """
#include <torch/extension.h>
__global__ void kernel(const float* x, float* y, float s, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * s;
}
void relu(torch::Tensor x, double s, torch::Tensor y) {
  const int n = x.numel();
  kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), s, n);
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("relu", &relu); }
"""


def written(folder: Path, *, spec: dict[str, Any], source: str, name: str = "main.py") -> tuple[Path, Path]:
    definition, solution = folder / "relu.json", folder / "solution.json"
    definition.write_text(json.dumps(DEFINITION))
    definition.with_suffix(".jsonl").write_text(json.dumps({"definition": "relu", "workload": WORKLOAD}) + "\n{}\n")
    solution.write_text(json.dumps({"name": "a", "spec": spec, "sources": [{"path": name, "content": source}]}))
    return definition, solution


def spec_of(language: str, entry: str, **others: Any) -> dict[str, Any]:
    return {"language": language, "entry_point": entry, "target_hardware": ["NVIDIA_H100"], **others}


def test_axes_become_sizes(tmp_path: Path) -> None:
    definition, solution = written(tmp_path, spec=spec_of("python", "main.py::go"), source="def go(x, s, y): ...")
    known = Definition.read(definition)
    assert {"M = 32", "N = 256", "        return run(x, 2.5)"} <= set(known.task().splitlines())
    name, text = answer_of(solution, known)
    assert name == "main.py"
    assert text.startswith("def go(x, s, y): ...")
    assert "y = torch.empty((x.shape[0], x.shape[1],), dtype=torch.float32, device=x.device)" in text
    assert "go(x, 2.5, y)\n        return y" in text


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (spec_of("python", "other.py::go"), "not a Solution"),
        (spec_of("rust", "main.py::go"), "expected a function in python"),
        (spec_of("cuda", "main.py::go"), "its binding is tvm-ffi"),
    ],
)
def test_a_solution_that_cannot_be_judged(tmp_path: Path, spec: dict[str, Any], message: str) -> None:
    definition, solution = written(tmp_path, spec=spec, source="")
    with pytest.raises(InputError, match=message):
        answer_of(solution, Definition.read(definition))


def test_an_axis_without_a_value(tmp_path: Path) -> None:
    definition, _ = written(tmp_path, spec={}, source="")
    definition.with_suffix(".jsonl").unlink()
    with pytest.raises(InputError, match="M has no value"):
        Definition.read(definition)


@pytest.mark.matrix("the texts that are judged are compared above")
@pytest.mark.parametrize(("bound", "verdict"), [("i < n", Verdict.RIGHT), ("i < n - 1", Verdict.WRONG)])
def test_a_solution_is_judged(
    tmp_path: Path, judged_files: Callable[[Path, Path], Judgement], bound: str, verdict: Verdict
) -> None:
    source = KERNEL.replace("i < n", bound)
    spec = spec_of("cuda", "main.cu::relu", binding="torch")
    found = judged_files(*written(tmp_path, spec=spec, source=source, name="main.cu"))
    assert found.verdict is verdict, found
