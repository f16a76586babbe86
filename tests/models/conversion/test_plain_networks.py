"""Twelve kinds of networks in the operators of MindSpore and JAX: values, gradients and training are PyTorch's.

`make networks` converts them all; `make matrix` converts two.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.models.conversion.plain_networks import NETWORKS, made

from opbridge.models.conversion.check_conversion import check
from opbridge.models.conversion.convert_module import converted

CHOSEN = NETWORKS if "OPBRIDGE_ALL_NETWORKS" in os.environ else ("LSTM", "GPT")


@pytest.mark.matrix("tests/models/scan for the operators, and test_standalone.py for packages")
@pytest.mark.parametrize("to", ["mindspore", "jax"])
@pytest.mark.parametrize("name", CHOSEN)
def test_a_native_network_agrees(name: str, to: str, tmp_path: Path) -> None:
    network, inputs = made(name)
    converted(network, inputs, to=to, prefer="native").write(tmp_path / "net")
    found = check(network, tmp_path / "net", inputs, {})
    assert any(each.what.startswith("gradient of") for each in found)
    assert [each for each in found if not each.is_right] == []
