"""Names of modules and parameters that Python could not read as attributes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
import torch

from opbridge.models.conversion.check_conversion import check
from opbridge.models.conversion.convert_module import converted, imported


class Named(torch.nn.Module):
    """A list with a gap, since what is never called is not there, and names with a hyphen and a blank."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = torch.nn.ModuleDict({"block-1": torch.nn.Linear(4, 4), "with blank": torch.nn.Linear(4, 4)})
        self.weights = torch.nn.ParameterList([torch.ones(4), torch.full((4,), 2.0)])
        self.scales = torch.nn.ParameterDict({"a-b": torch.ones(4)})
        self.listed = torch.nn.ModuleList([torch.nn.Identity(), torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)])
        self.listed[2].weight = self.parts["block-1"].weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.parts["with blank"](self.parts["block-1"](x)) * self.weights[1] + self.weights[0] * self.scales["a-b"]
        return self.listed[2](self.listed[1](x))


class Gapped(torch.nn.Sequential):
    """Numbered parts of the network itself, of which one is called twice."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self[2](self[0](self[0](x)))


def _gapped() -> Any:
    return Gapped(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 4))


@pytest.mark.cases(2)
@pytest.mark.parametrize("make", [Named, _gapped])
@pytest.mark.parametrize("to", ["mindspore", "jax"])
def test_a_name_may_be_any(make: Any, to: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module, inputs = make().eval(), (torch.randn(2, 4),)
    converted(module, inputs, to=to).write(tmp_path / "net")
    found = check(module, tmp_path / "net", inputs, {})
    assert [each for each in found if not each.is_right] == []


def test_parameters_have_pytorchs_names(tmp_path: Path) -> None:
    module = Named().eval()
    converted(module, (torch.ones(2, 4),)).write(tmp_path / "net")
    cell = imported(tmp_path / "net").load()
    theirs = {parameter.name for parameter in cell.get_parameters()}
    assert theirs == module.state_dict().keys() - {"listed.2.weight"}
    ms.save_checkpoint(cell, str(tmp_path / "net.ckpt"))
    again = imported(tmp_path / "net").load(tmp_path / "net.ckpt")
    np.testing.assert_array_equal(again.weights._1.asnumpy(), np.full(4, 2, np.float32))
