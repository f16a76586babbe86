"""Branches on tensors of a network's own making are decided; those on what it computes with weights are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from opbridge.base.errors import UnsupportedError
from opbridge.models.conversion.check_conversion import check
from opbridge.models.conversion.convert_module import converted


class OwnMask(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = torch.ones(x.shape[:1])
        mask[1:] = 0
        seen = mask > 0
        if seen.all() or torch.zeros_like(x).any():
            return x
        x = x + torch.arange(seen.sum() + 2)
        return x * seen.sum().item() * 2 + [0, 7][int(x.new_ones(2).sum()) - 1]


class _Asks(torch.nn.Module):
    """Each way in which what was known may be known no longer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layer(x)
        return x * 2 if self.mask(x).all() else x

    def mask(self, x: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError


class OfAResult(_Asks):
    def mask(self, x: torch.Tensor) -> torch.Tensor:
        return x > 0


class OfAParameter(_Asks):
    def mask(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer.bias


class WrittenByAView(_Asks):
    def mask(self, x: torch.Tensor) -> torch.Tensor:
        mask = torch.ones(4)
        mask[1:].copy_(x.flatten()[:3])
        return mask


class WrittenByAnIndex(_Asks):
    def mask(self, x: torch.Tensor) -> torch.Tensor:
        mask = torch.ones(4)
        mask.view(2, 2)[0] = x.flatten()[:2]
        return mask


class WrittenAsOut(_Asks):
    def mask(self, x: torch.Tensor) -> torch.Tensor:
        mask = torch.ones_like(x)
        torch.add(x, 1, out=mask)
        return mask


class Drawn(_Asks):
    def mask(self, x: torch.Tensor) -> torch.Tensor:
        mask = torch.ones(4)
        mask[1:].uniform_()
        return mask > 0.5


def test_a_mask_of_the_networks_own_decides(tmp_path: Path) -> None:
    module, inputs = OwnMask(), (torch.randn(4, 3, generator=torch.Generator().manual_seed(0)),)
    converted(module.eval(), inputs).write(tmp_path / "net")
    found = check(module, tmp_path / "net", inputs, {})
    assert found
    assert [each for each in found if not each.is_right] == []


class GuardsAgainstOverflow(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layer(x)
        if torch.isinf(x).any() | torch.isnan(x).any() or not torch.isfinite(x).all():
            return x.clamp(-1e4, 1e4)
        return torch.where(torch.isnan(x), 1, x) * 2


def test_what_is_computed_has_not_overflown(tmp_path: Path) -> None:
    module, inputs = GuardsAgainstOverflow().eval(), (torch.ones(2, 3),)
    made = converted(module, inputs)
    assert "clamp" not in made.source
    assert "aten_where" in made.source
    made.write(tmp_path / "net")
    found = check(module, tmp_path / "net", inputs, {})
    assert [each for each in found if not each.is_right] == []


_NOT_KNOWN = [OfAResult, OfAParameter, WrittenByAView, WrittenByAnIndex, WrittenAsOut, Drawn]


@pytest.mark.parametrize("make", _NOT_KNOWN)
def test_what_is_not_known_is_refused(make: Any) -> None:
    module = make().eval()
    before = torch.get_rng_state()
    with pytest.raises(UnsupportedError, match="cannot be exported"):
        converted(module, (torch.ones(2, 2),))
    assert torch.equal(before, torch.get_rng_state())


def test_free_sizes_are_not_known() -> None:
    module, free = OwnMask().eval(), ({0: torch.export.Dim("batch", min=2, max=9)},)
    with pytest.raises(UnsupportedError, match="cannot be exported"):
        converted(module, (torch.ones(4, 3),), dynamic_shapes=free)
