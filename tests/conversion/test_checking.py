"""What a check leaves behind, and what it cannot compare."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from opbridge.conversion.checking import check
from opbridge.conversion.converting import converted
from opbridge.errors import UnsupportedError


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


@pytest.mark.parametrize("to", ["mindspore", "jax"])
def test_what_is_drawn_for_nothing_does_not_matter(to: str, tmp_path: Path) -> None:
    module, inputs = DrawsForNothing().eval(), (torch.ones(4),)
    made = converted(module, inputs, to=to)
    made.write(tmp_path / "net")
    found = check(module, tmp_path / "net", inputs, {})
    assert {each.what for each in found} == {"value", "value in training"}
    assert [each for each in found if not each.is_right] == []


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
