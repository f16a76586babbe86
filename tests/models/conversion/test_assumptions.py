"""A network that branches on its inputs goes as with those of the example, and refuses others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import mindspore as ms
import numpy as np
import pytest
import torch

import opbridge as ob
from opbridge.base.errors import UnsupportedError
from opbridge.models.conversion.check_conversion import check
from opbridge.models.conversion.convert_module import converted


class _Holds(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        self.register_buffer("most", torch.tensor(2))


class Masked(_Holds):
    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.layer(x)
        return x if mask.all() else x * mask[:, None]


class OfABuffer(_Holds):
    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.layer(x)
        return x if self.most > mask.sum() else x[:, : self.most].view(2, self.most)


class ThroughItsOwn(_Holds):
    """What is assumed stays so in a tensor that it is written to."""

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        own = torch.ones(3, dtype=torch.int64)
        own[1:] = mask
        count = own.sum()
        return (
            self.layer(x if count > 2 else x * 2)
            + torch.arange(count + 1).sum()
            + torch.nn.functional.pad(x, (0, 3 - count)).sum()
        )


class TakesPlaces(_Holds):
    """By a mask, of which the number of elements is asked."""

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        chosen = (mask > 0).unsqueeze(-1).expand_as(x)
        x = self.layer(x)
        if x[chosen].numel() != 3 or mask.nonzero().shape != (1, 1):
            raise ValueError
        (rows,) = torch.where(mask > 0)
        return x[chosen].sum() + x[rows] + x[mask.nonzero(as_tuple=True)[0]]


class AsItRuns(_Holds):
    """What it does while it is traced is wrong."""

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[:, : 4 if torch.compiler.is_compiling() else 3] @ torch.ones(3, 4 - int(mask.sum()))


_GIVEN = torch.ones(2, 3), torch.tensor([1, 0])


@pytest.mark.cases(4)
@pytest.mark.parametrize("make", [Masked, OfABuffer, ThroughItsOwn, TakesPlaces, AsItRuns])
@pytest.mark.parametrize("to", ["mindspore", "jax"])
def test_a_branch_goes_as_with_the_example(make: Any, to: str, tmp_path: Path) -> None:
    module = make().eval()
    made = converted(module, _GIVEN, to=to)
    assert all(each.startswith("a branch goes as with the inputs of the example") for each in made.notes)
    made.write(tmp_path / "net")
    found = check(module, tmp_path / "net", _GIVEN, {})
    assert len(found) > 4
    assert [each for each in found if each.difference > 1e-6] == []


@pytest.mark.parametrize("make", [Masked, OfABuffer, ThroughItsOwn, TakesPlaces])
def test_other_inputs_are_refused(make: Any) -> None:
    x, other = np.ones((2, 3), np.float32), np.array([1, 1])
    with pytest.warns(UserWarning, match="as with the inputs of the example"):
        cell = ob.convert(make().eval(), _GIVEN)
    with pytest.warns(UserWarning, match="as with the inputs of the example"):
        apply, values = ob.convert(make().eval(), _GIVEN, to="jax", prefer="aten")
    told = r"another way at File .*test_assumptions.py\", line \d+ than those"
    with pytest.raises(Exception, match=told):
        cell(ms.Tensor(x), ms.Tensor(other)).asnumpy()
    with pytest.raises(Exception, match=told):
        jax.block_until_ready(jax.jit(apply)(values, x, other))


class GivesNumbers(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1 if x.any() else x


def test_what_gives_no_floats_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="has to give a tensor of floating point"):
        converted(GivesNumbers(), (torch.ones(2, dtype=torch.int64),))
