"""Networks that write to their own weights while they run, and those that freeze a part of themselves."""

from __future__ import annotations

from pathlib import Path

import mindspore as ms
import pytest
import torch

import opbridge as ob
from opbridge.base.errors import UnsupportedError
from opbridge.models.conversion.check_conversion import check
from opbridge.models.conversion.convert_module import converted


class Rescales(torch.nn.Module):
    """Once in each mode, as transformers' RWKV does, by a number that is 1 in small networks."""

    def __init__(self, factor: int) -> None:
        super().__init__()
        self.layer, self.factor, self.is_rescaled = torch.nn.Linear(3, 3), factor, False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.is_rescaled == self.training:
            with torch.no_grad():
                self.layer.weight.mul_(self.factor) if self.training else self.layer.weight.div_(self.factor)
            self.is_rescaled = not self.training
        return self.layer(x) * x


class Tracks(torch.nn.Module):
    """Beside gradients, in another element type, and in a parameter that is not trained; nobody reads the results."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("gram", torch.zeros(3, 3))
        self.seen = torch.nn.Parameter(torch.zeros(()), requires_grad=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            self.mean.lerp_(x.mean(0), 0.5)
            self.seen.add_(1)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            self.gram.copy_((x.T @ x).float())
        return self.layer(x)


class Encoder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        first = self.first(x).relu()
        return first, self.second(first)


class Frozen(torch.nn.Module):
    """Results of several parts of a module that no gradient leads through, as those of CLIPSeg's encoder."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.layer = Encoder(), torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            first, second = self.encoder(x)
        return self.layer(first) + second


@pytest.mark.cases(2)
@pytest.mark.parametrize("module", [Rescales(1), Frozen()], ids=["rescales", "frozen"])
@pytest.mark.parametrize("to", ["mindspore", "jax"])
def test_values_and_gradients_are_pytorchs(module: torch.nn.Module, to: str, tmp_path: Path) -> None:
    inputs = (torch.arange(6.0).reshape(2, 3),)
    converted(module.eval(), inputs, to=to).write(tmp_path / "net")
    found = check(module, tmp_path / "net", inputs, {})
    assert any("weight after 3 steps" in each.what for each in found)
    assert [each for each in found if each.difference > 1e-6] == []


def test_a_weight_that_changes_with_every_call_is_refused() -> None:
    with pytest.raises(
        UnsupportedError,
        match=r"its weight layer\.weight.*\n  at File .*line \d+, in forward; do that outside of forward",
    ):
        converted(Rescales(2).eval(), (torch.ones(2, 3),))


@pytest.mark.cases(1)
@pytest.mark.parametrize("to", ["mindspore", "jax"])
def test_what_is_written_beside_gradients_is_kept(to: str, tmp_path: Path) -> None:
    module, inputs = Tracks(), (torch.arange(6.0).reshape(2, 3),)
    converted(module, inputs, to=to).write(tmp_path / "net")
    found = {each.what: each.difference for each in check(module, tmp_path / "net", inputs, {})}
    assert {name: found[f"{name} after training"] for name in ("mean", "gram")} == {"mean": 0, "gram": 0}


def test_what_is_not_trained_is_state_too() -> None:
    module, inputs = Tracks(), (torch.ones(2, 3),)
    cell = ob.convert(module, inputs)
    cell(ms.Tensor(inputs[0].numpy()))
    assert cell.seen.asnumpy() == 1
    apply, values = ob.convert(module, inputs, to="jax", prefer="aten")
    _, state = apply(values, inputs[0].numpy(), train=True)
    assert state["seen"] == 1
