"""What a check leaves behind, and what it cannot compare."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from opbridge.base.errors import UnsupportedError
from opbridge.models.conversion.check_conversion import check
from opbridge.models.conversion.convert_module import converted
from opbridge.models.conversion.jax_under_test import JaxSide


class Versioned(torch.nn.Module):
    """Refuses states without a version, as torchvision's mnasnet does; holds a buffer that no state has."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(4)
        self.register_buffer("seen", torch.zeros(4), persistent=False)

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        raise ValueError("expected a version")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            self.seen += x.detach().mean(0)
        return self.norm(x.to(torch.device("cpu"), torch.float32)) + self.seen


class Draws(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.rand(4)


class DrawsForNothing(torch.nn.Module):
    """As speech models do, which ask of each layer whether it is to be dropped."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        drawn = torch.rand([])
        return x if self.training and drawn < 0.0 else x * 2


@pytest.mark.cases(1)
@pytest.mark.parametrize("to", ["mindspore", "jax"])
def test_what_is_drawn_for_nothing_does_not_matter(to: str, tmp_path: Path) -> None:
    module, inputs = DrawsForNothing().eval(), (torch.ones(4),)
    made = converted(module, inputs, to=to)
    made.write(tmp_path / "net")
    found = check(module, tmp_path / "net", inputs, {})
    assert {each.what for each in found} == {"value", "value in training"}
    assert [each for each in found if not each.is_right] == []


@pytest.mark.cases(1)
@pytest.mark.parametrize("to", ["mindspore", "jax"])
def test_values_are_put_back_by_their_places(to: str, tmp_path: Path) -> None:
    module, inputs = Versioned().eval(), (torch.randn(8, 4, generator=torch.Generator().manual_seed(0)),)
    converted(module, inputs, to=to).write(tmp_path / "net")
    before = {name: value.clone() for name, value in module.named_buffers()}
    found = check(module, tmp_path / "net", inputs, {})
    assert "seen after training" in {each.what for each in found}
    assert [each for each in found if not each.is_right] == []
    assert all(torch.equal(value, before[name]) for name, value in module.named_buffers())


def test_what_draws_in_inference_is_not_compared(tmp_path: Path) -> None:
    module, inputs = Draws().eval(), (torch.ones(4),)
    converted(module, inputs).write(tmp_path / "net")
    with pytest.raises(UnsupportedError, match="Draws draws random numbers in inference"):
        check(module, tmp_path / "net", inputs, {})


class NormsWhatIsNormed(torch.nn.Module):
    """The second norm's mean is zero but for rounding."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.again = torch.nn.BatchNorm1d(64), torch.nn.BatchNorm1d(64)
        self.layer = torch.nn.Linear(64, 64, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.again(self.layer(self.norm(x)))


@pytest.mark.cases(1)
@pytest.mark.parametrize("to", ["mindspore", "jax"])
def test_a_mean_that_is_only_rounding_agrees(to: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module, inputs = NormsWhatIsNormed().eval(), (torch.randn(64, 64),)
    converted(module, inputs, to=to).write(tmp_path / "net")
    found = check(module, tmp_path / "net", inputs, {})
    assert [each for each in found if not each.is_right] == []


class Amplifies(torch.nn.Module):
    """Three steps of training take it far from where it was, and rounding with it."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(*[torch.nn.Linear(32, 32) for _ in range(3)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.layers(x) * 3).sin() * 3


@pytest.mark.parametrize(("off", "agrees"), [(1e-6, True), (3e-5, False)])
def test_rounding_may_grow_as_in_pytorch(
    off: float, agrees: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rounded(side: Any, *given: Any) -> dict[str, Any]:
        drawn = np.random.default_rng(0)
        found = original(side, *given)
        return {name: each * (1 + off * drawn.standard_normal(each.shape)) for name, each in found.items()}

    original = JaxSide.gradients
    # Adds a known error to the real gradients.
    monkeypatch.setattr(JaxSide, "gradients", rounded)
    torch.manual_seed(0)
    module, inputs = Amplifies().eval(), (torch.randn(64, 32),)
    converted(module, inputs, to="jax", prefer="aten").write(tmp_path / "net")
    found = check(module, tmp_path / "net", inputs, {})
    assert all(each.is_right for each in found if "gradient" in each.what)
    assert all(each.is_right for each in found) is agrees


class Dies(torch.nn.Module):
    """It learns that it is to give nothing, and nothing more after that."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.shift = torch.nn.Parameter(torch.zeros(1))
        self.gate = torch.nn.Parameter(torch.full((1,), 1e-3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return -(self.layer(x) + self.shift).softmax(-1)[:, :1] * self.gate.relu()


def test_a_gradient_of_nothing_is_held_against_those_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def rounded(side: Any, *given: Any) -> dict[str, Any]:
        return {name: each + np.float32(1e-9) for name, each in original(side, *given).items()}

    original = JaxSide.gradients
    # Adds a known error to the real gradients.
    monkeypatch.setattr(JaxSide, "gradients", rounded)
    torch.manual_seed(0)
    module, inputs = Dies().eval(), (torch.ones(1, 4),)
    converted(module, inputs, to="jax", prefer="aten").write(tmp_path / "net")
    found = check(module, tmp_path / "net", inputs, {})
    assert [each for each in found if not each.is_right] == []
