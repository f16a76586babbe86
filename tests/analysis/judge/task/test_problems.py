"""Tasks that hand the answer's function to their own model: what it is called with, and what should come of it."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
import torch

from opbridge.analysis.judge.task.formats import format_of, settings_of
from opbridge.analysis.judge.task.problems import problem
from opbridge.analysis.judge.task.sizes import sizes_by_default
from opbridge.base.errors import InputError

FORWARD = """
import torch


def forward_fn(x, weight, scale):
    return torch.relu(x @ weight.T) * scale


class Model(torch.nn.Module):
    def __init__(self, features: int = 3, kind: str = "random"):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(2, features) if kind == "random" else torch.ones(2, features))

    def forward(self, x, fn=forward_fn):
        return fn(x, self.weight, 2.0)


def get_inputs(batch: int = 4, features: int = 3):
    return [torch.rand(batch, features, requires_grad=True)]
"""
BACKWARD = """

class AutogradFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, scale):
        ctx.save_for_backward(x, weight)
        ctx.scale = scale
        return forward_fn(x, weight, scale)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_weight, grad_x = AutogradFunction.backward_fn((x, weight), grad_output, ctx.scale)
        return grad_x, grad_weight, None
"""


def loaded(source: str) -> ModuleType:
    module = ModuleType("task")
    exec(source, module.__dict__)
    return module


def written(folder: Path, source: str) -> Path:
    (folder / "func_forward.py").write_text(source)
    return folder / "func_forward.py"


def test_a_function_is_held_to_its_arguments(tmp_path: Path) -> None:
    form = format_of(written(tmp_path, FORWARD))
    assert (form.answer, form.hands_functions) == ("forward", True)
    task = problem(form, loaded(FORWARD), {"batch": 5, "features": 7, "kind": "ones"}, seed=1)
    x, weight, scale = task.inputs(list)
    assert x.shape == (5, 7)
    assert torch.equal(weight, torch.ones(2, 7))
    torch.testing.assert_close(task.model(x, weight, scale), torch.relu(x @ weight.T) * 2)


def test_gradients_come_in_the_answers_order(tmp_path: Path) -> None:
    form = format_of(written(tmp_path, FORWARD + BACKWARD))
    assert form.answer == "backward"
    task = problem(form, loaded(FORWARD + BACKWARD), {}, seed=1)
    (x, weight), gradient, scale = task.inputs(list)
    assert gradient.shape == (4, 2)
    of_weight, of_x = task.model((x, weight), gradient, scale)
    masked = gradient * scale * (x @ weight.T > 0)
    torch.testing.assert_close(of_weight, masked.T @ x)
    torch.testing.assert_close(of_x, masked @ weight)
    wide = task.model((x.double(), weight.double()), gradient.double(), scale)
    assert [one.dtype for one in wide] == [torch.float64] * 2


def test_sizes_stand_beside_a_task_or_in_it(tmp_path: Path) -> None:
    task = written(tmp_path, FORWARD)
    assert settings_of(task) == {}
    assert sizes_by_default(FORWARD) == {"features": 3, "batch": 4}
    (tmp_path / "config_forward.json").write_text(
        '{"single_input_configs": [{"batch": 9}], "single_init_configs": [{"kind": "ones"}]}'
    )
    assert settings_of(task) == {"batch": 9, "kind": "ones"}
    (tmp_path / "config_forward.json").write_text("[]")
    with pytest.raises(InputError, match="not a table of sizes"):
        settings_of(task)


def test_what_a_task_makes_on_a_gpu_is_made_here(tmp_path: Path) -> None:
    source = (
        "import torch\n"
        "class Model(torch.nn.Linear): pass\n"
        "def get_inputs(): return [torch.rand(2, 8, device='cuda', dtype=torch.float16), torch.ones(3).cuda()]\n"
        "def get_init_inputs(): return [8, 4]\n"
    )
    (tmp_path / "reference.py").write_text(source)
    task = problem(format_of(tmp_path / "reference.py"), loaded(source), {}, 0)
    assert [(one.device.type, one.dtype) for one in task.inputs(list)] == [
        ("cpu", torch.float16),
        ("cpu", torch.float32),
    ]
    with torch.device("meta"):
        assert {one.device.type for one in task.inputs(list)} == {"meta"}
