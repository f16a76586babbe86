"""Packages that the framework computes alone: they import neither PyTorch nor opbridge, and have a test."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from subprocesses import succeed

from opbridge.models.conversion.check_conversion import check
from opbridge.models.conversion.constants import numpy_text
from opbridge.models.conversion.convert_module import converted
from opbridge.models.conversion.standalone import files

ALONE = """
import sys
sys.modules["torch"] = sys.modules["opbridge"] = None
import net.test_network
net.test_network.test_values_are_those_of_pytorch()
print("alone")
"""


class Read(torch.nn.Module):
    """A norm that trains, a transposed convolution, a recurrent layer, attention, and positions."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.conv, self.norm = torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.BatchNorm2d(4)
        self.up = torch.nn.ConvTranspose2d(4, 4, 2, stride=2)
        self.lstm = torch.nn.LSTM(8, 8, batch_first=True)
        self.attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = self.up(self.norm(self.conv(x)).relu_()).mean(1)
        rows = self.lstm(rows)[0] + torch.arange(8) / 8
        return self.attention(rows, rows, rows, need_weights=False)[0]


@pytest.mark.matrix("test_copied_modules_import_nothing_of_opbridge, and tests/models/scan/test_forms.py for the forms")
@pytest.mark.parametrize("to", ["mindspore", "jax"])
def test_the_package_runs_without_pytorch_and_opbridge(to: str, tmp_path: Path) -> None:
    module, inputs = Read().eval(), (torch.randn(2, 3, 4, 4),)
    made = converted(module, inputs, to=to, native_only=True)
    assert made.is_standalone
    made.write(tmp_path / "net")
    assert [each for each in check(module, tmp_path / "net", inputs, {}) if not each.is_right] == []
    assert succeed(ALONE, cwd=tmp_path).strip().endswith("alone")


@pytest.mark.parametrize("to", ["mindspore", "jax"])
def test_copied_modules_import_nothing_of_opbridge(to: str) -> None:
    for name, text in files(to).items():
        compile(text, name, "exec")
        assert "opbridge" not in "".join(line for line in text.splitlines() if "import " in line), name


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (torch.arange(5), 'np.arange(0, 5, 1, dtype="int64")'),
        (torch.zeros(2, 3), 'np.full((2, 3), 0.0, "float32")'),
        (torch.tensor([True, False]), 'np.array([True, False], "bool").reshape((2,))'),
        (torch.tensor(float("-inf")), 'np.array(float("-inf"), "float32").reshape(())'),
        (torch.ones(3, dtype=torch.bfloat16), None),
        (torch.randn(100, 100), None),
    ],
)
def test_constants_are_numpy_expressions(tensor: torch.Tensor, text: str | None) -> None:
    assert numpy_text(tensor) == text
