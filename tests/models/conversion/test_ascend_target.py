"""Packages for an Ascend NPU: native operators only, and a program that compares them with PyTorch there."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from subprocesses import succeed

from opbridge.base.errors import InputError, UnsupportedError
from opbridge.models.conversion.convert_module import converted

TWICE = """
import sys
from pathlib import Path
import numpy as np
from net import check_on_device, weights
sys.argv += ["--device", "CPU"]
print("returns", check_on_device.main())
file = Path("net/example.safetensors")
example = weights.load(file)
weights.save(file, {**example, "result.0": example["result.0"] * np.float32(1.01)})
print("returns", check_on_device.main())
"""


class Scored(torch.nn.Module):
    """A network whose `cummax` has its gradient on an Ascend only, unless it is left out."""

    def __init__(self, *, cumulative: bool) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.conv, self.norm, self.cumulative = torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), cumulative

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.norm(self.conv(x)).relu().mean((2, 3))
        return torch.cummax(scores, 0)[0] if self.cumulative else scores


def test_the_program_compares_results_and_gradients_in_both_modes(tmp_path: Path) -> None:
    made = converted(Scored(cumulative=False), (torch.randn(2, 3, 5, 5),), device="ascend")
    made.write(tmp_path / "net")
    assert made.documented == ()
    right, wrong, _ = succeed(TWICE, cwd=tmp_path).split("returns")
    lines = right.splitlines()
    assert [line.split()[1:] for line in lines[:5]] == [
        ["PyNative", "result.0"],
        *(["PyNative", f"gradient.{name}"] for name in ("conv.weight", "conv.bias", "norm.weight", "norm.bias")),
    ]
    assert lines[-1] == "all 10 tensors agree with PyTorch on CPU"
    assert wrong.splitlines()[0] == " 0"
    assert wrong.splitlines()[-1] == "2 of 10 tensors differ"


def test_an_operator_that_only_an_npu_can_run_follows_its_documentation() -> None:
    module, inputs = Scored(cumulative=True), (torch.randn(2, 3, 5, 5),)
    made = converted(module, inputs, device="ascend")
    assert made.documented == ("aten::cummax",)
    assert "mint.cummax(mean, dim=0)" in made.source
    with pytest.raises(UnsupportedError, match=r"aten::cummax: only on Ascend: mint.cummax, Unsupported op"):
        converted(module, inputs, native_only=True)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"device": "gpu"}, "cannot be converted for 'gpu'\n  ascend"),
        ({"device": "ascend", "to": "jax"}, "an Ascend NPU runs MindSpore, not JAX"),
    ],
)
def test_other_devices_are_refused(wrong: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        converted(torch.nn.Linear(2, 1), (torch.ones(1, 2),), **wrong)
