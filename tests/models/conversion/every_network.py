"""Whole networks of torchvision and transformers; run by `make networks`, and not by `make test`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.models.conversion.networks import NETWORKS, made

from opbridge.models.conversion.check_conversion import check
from opbridge.models.conversion.convert_module import converted


@pytest.mark.parametrize(("to", "prefer"), [("mindspore", "aten"), ("jax", "aten"), ("jax", "native")])
@pytest.mark.parametrize("name", NETWORKS)
def test_values_gradients_and_training_are_pytorchs(name: str, to: str, prefer: str, tmp_path: Path) -> None:
    network, inputs = made(name)
    converted(network, inputs, to=to, prefer=prefer).write(tmp_path / "net")
    found = check(network, tmp_path / "net", inputs, {})
    assert any(each.what.startswith("gradient of") for each in found)
    assert [each for each in found if not each.is_right] == []
