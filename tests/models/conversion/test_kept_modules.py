"""Modules that PyTorch's export stops at stay PyTorch's, whole; branches on what is drawn go as they do mostly."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
import torch

import opbridge as ob
from opbridge.base.errors import UnsupportedError
from opbridge.models.conversion.check_conversion import check
from opbridge.models.conversion.convert_module import converted


class Experts(torch.nn.Module):
    """Each row is for the expert that it chooses."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = torch.nn.Linear(3, 4)
        self.experts = torch.nn.ModuleList([torch.nn.Linear(3, 3) for _ in range(4)])
        self.register_buffer("count", torch.zeros(4, dtype=torch.int64))

    def forward(self, x: torch.Tensor, scale: float = 1.0, mask: Any = None) -> dict[str, Any]:
        weights, chosen = self.gate(x).softmax(-1).max(-1)
        result = torch.zeros_like(x)
        for number in chosen.unique():
            (rows,) = torch.where((chosen == number) & (mask > 0))
            result.index_add_(0, rows, self.experts[number](x[rows]) * weights[rows, None])
        if self.training:
            self.count += torch.bincount(chosen, minlength=4)
        return {"result": result * scale, "chosen": chosen, "more": None}


class Stands(torch.nn.Module):
    """In a network that can be traced."""

    def __init__(self, make: Any) -> None:
        super().__init__()
        self.parts = torch.nn.ModuleList([make(), make()])
        self.before = torch.nn.Sequential(*[torch.nn.Linear(3, 3) for _ in range(12)])

    def forward(self, x: torch.Tensor) -> Any:
        x, mask = self.before(x), torch.ones(x.shape[:1], dtype=torch.int64)
        for part in self.parts:
            x = x + part(x, 2.0, mask=mask)["result"]
        return x.tanh()


def _x() -> torch.Tensor:
    return torch.randn(5, 3, generator=torch.Generator().manual_seed(3))


@pytest.mark.cases(1)
@pytest.mark.parametrize("to", ["mindspore", "jax"])
def test_a_module_that_asks_for_values_stays_whole(to: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = Stands(Experts).eval()
    made = converted(module, (_x(),), to=to)
    assert made.notes == ("Experts stays PyTorch's as a whole",)
    assert len(made.modules) == 2  # In training it counts.
    made.write(tmp_path / "net")
    found = check(module, tmp_path / "net", (_x(),), {})
    assert any(each.what == "parts.0.count after training" for each in found)
    assert [each for each in found if each.difference > 1e-6] == []


class Jitters(Experts):
    def forward(self, x: torch.Tensor, scale: float = 1.0, mask: Any = None) -> dict[str, Any]:
        if self.training:
            x *= torch.rand_like(x)
        return super().forward(x, scale, mask)


def test_what_a_whole_module_draws_is_the_same_in_its_gradient() -> None:
    torch.manual_seed(0)
    with pytest.warns(UserWarning, match="Jitters stays PyTorch's as a whole"):
        cell = ob.convert(Stands(Jitters).eval(), (_x(),))
    cell.set_train()
    x = ms.Tensor(_x().numpy())
    assert not np.array_equal(cell(x).asnumpy(), cell(x).asnumpy())
    ms.value_and_grad(lambda x: cell(x).sum(), None, cell.trainable_params())(x)


class GivenANumber(torch.nn.Module):
    """The number would be that of the example for ever."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Identity())
        self.part = TakesRows()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.part(x, (self.inner(x) > 0).sum().item())


class TakesRows(torch.nn.Module):
    def forward(self, x: torch.Tensor, count: int) -> torch.Tensor:
        return x[0] * 2 if count > 2 else x[0]


def test_a_number_that_depends_on_values_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="TakesRows is given a number that depends on the values of tensors"):
        converted(GivenANumber().eval(), (_x(),))


class DropsLayers(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(3, 3) for _ in range(3)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            if not (self.training and torch.rand([]) < 0.1):
                x = layer(x)
        return x if torch.rand([]) > 0.1 else x * 2


def test_a_layer_is_never_dropped() -> None:
    module = DropsLayers().eval()
    made = converted(module, (_x(),))
    assert len(made.notes) == 2
    assert all(
        re.fullmatch(r"a branch on drawn values .*test_kept_modules.py\", line \d+", note) for note in made.notes
    )
    assert "if self.training" not in made.source


class Tosses(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x if torch.rand([]) < 0.7 else x * 2


def test_what_may_be_drawn_either_way_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="cannot be exported"):
        converted(Tosses().eval(), (_x(),))


class MaskReadOften(torch.nn.Module):
    """Its readers' gradients are added up in MindSpore, which cannot add truths."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layer(x)
        mask = y > 0
        chosen = torch.nn.functional.one_hot(mask.long().sum(-1), 5)
        return torch.where(mask, y, y * 2).masked_fill(mask & (y > 0.5), 1) * chosen[:, 1:]


@pytest.mark.cases(1)
@pytest.mark.parametrize("to", ["mindspore", "jax"])
def test_a_mask_may_be_read_often(to: str, tmp_path: Path) -> None:
    module = MaskReadOften().eval()
    converted(module, (_x(),), to=to).write(tmp_path / "net")
    found = check(module, tmp_path / "net", (_x(),), {})
    assert [each for each in found if each.difference > 1e-6] == []


class MovesItself(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer.to(x.dtype)(x)


def test_a_layer_that_is_there_already_is_not_moved() -> None:
    assert "aten_linear" in converted(MovesItself().eval(), (_x(),)).source


class WritesADiagonal(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        blocks = self.layer(x)[None].repeat(2, 1, 1)
        blocks[1, :3].fill_diagonal_(0.5, wrap=True)
        return blocks


@pytest.mark.cases(1)
@pytest.mark.parametrize("to", ["mindspore", "jax"])
def test_a_diagonal_is_written(to: str, tmp_path: Path) -> None:
    module = WritesADiagonal().eval()
    converted(module, (_x(),), to=to).write(tmp_path / "net")
    found = check(module, tmp_path / "net", (_x(),), {})
    assert [each for each in found if each.difference > 1e-6] == []


class WritesThroughItself(torch.nn.Module):
    """`to` gives the tensor itself where it is of that type already."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layer(x)
        y.to(torch.float32).add_(1)
        torch.ops.aten.alias(y).mul_(2)
        return y


def test_a_tensor_is_written_through_itself(tmp_path: Path) -> None:
    module = WritesThroughItself().eval()
    converted(module, (_x(),)).write(tmp_path / "net")
    found = check(module, tmp_path / "net", (_x(),), {})
    assert [each for each in found if each.difference > 1e-6] == []
