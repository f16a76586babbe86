"""Models are called at their own sizes, told of and not computed; what their operators take follows from sizes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import torch
from forked_python import PYTHON

from opbridge.analysis.profile.chips import chip_named
from opbridge.analysis.profile.pytorch.model_call import calls_of
from opbridge.analysis.profile.pytorch.operator_recorder import Hollow
from opbridge.analysis.profile.pytorch.operator_times import GAP, HOST, START, Call, ModelCost, seconds

NAMES = ("Model", "get_inputs", "get_init_inputs")
# A terabyte goes through it: nobody computes that in a test.
TASK = """
import torch
class Model(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = torch.nn.Linear(features, features)
    def forward(self, x):
        return torch.relu(self.linear(x)).add_(1)
def get_inputs():
    return [torch.rand(16384, 4096)]
def get_init_inputs():
    return [4096]
"""


def test_a_model_is_called_and_not_computed(tmp_path: Path) -> None:
    path = tmp_path / "task.py"
    path.write_text(TASK)
    linear, relu, add = (call for call in calls_of(path, path, NAMES, "cpu") if call.bytes)
    rows, features = 16384, 4096
    assert (linear.name, linear.operations) == ("addmm", 2.0 * rows * features * features)
    assert linear.bytes == 4 * (features + 2 * rows * features + features * features)
    assert (relu.name, relu.operations, relu.bytes) == ("relu", 0.0, 2 * 4 * rows * features)
    assert (add.name, add.bytes) == ("add_", 2 * 4 * rows * features)


def test_what_is_small_or_decides_how_to_go_on_is_computed() -> None:
    with Hollow():
        assert torch.arange(4).sum().item() == 6
        assert torch.rand(1 << 20).sum().shape == ()
        # How many there are is told by what the memory held before: large tensors are not computed.
        assert torch.zeros(1 << 20).nonzero().shape[1] == 1


def test_what_is_changed_in_place_stays_the_same_tensor() -> None:
    with Hollow():
        x = torch.empty(1 << 20)
        assert x.mul_(2) is x
        out = torch.empty(1 << 20)
        torch.add(x, x, out=out)


def test_operators_are_bound_by_memory_or_by_matrices() -> None:
    chip = chip_named("a100")
    assert seconds(Call("relu", "float32", 0, 2_039_000_000), chip) == pytest.approx(GAP + 1e-3 / 0.92)
    assert seconds(Call("mm", "float32", 19.5e9, 1), chip) == pytest.approx(GAP + 1e-3 / 0.8)
    assert seconds(Call("mm", "float16", 312e9, 1), chip) == pytest.approx(GAP + 1e-3 / 0.7)
    assert seconds(Call("view", "float32", 0, 0), chip) == 0
    both = ModelCost(chip, (), (Call("relu", "float32", 0, 10**9),) * 2)
    assert both.seconds == pytest.approx(START + 2 * seconds(both.calls[0], chip))


def test_a_chip_with_little_to_do_waits_for_the_host() -> None:
    little = ModelCost(chip_named("a100"), (), (Call("relu", "float32", 0, 8),) * 10)
    assert little.seconds == pytest.approx(START + 10 * HOST)
    longer = ModelCost(chip_named("a100"), (), (Call("addmm", "float32", 0, 8),) * 10)
    assert longer.seconds > 2 * little.seconds


def test_what_is_not_computed_takes_no_memory() -> None:
    """An answer may have no more than half of the machine's; tensors of 16 GiB are counted where 2 are allowed."""
    text = """
import resource, torch
from opbridge.analysis.profile.pytorch.operator_recorder import Hollow
resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))
with Hollow() as watched:
    torch.rand(1 << 16, 1 << 16)[1:].relu()
print(watched.calls[-1].bytes)
"""
    done = subprocess.run([PYTHON, "-c", text], capture_output=True, text=True)
    assert done.stdout.strip() == str(2 * 4 * ((1 << 32) - (1 << 16))), done.stderr
