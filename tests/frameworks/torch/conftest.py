"""What tests of PyTorch share."""

from __future__ import annotations

import pytest
import torch


@pytest.fixture
def fresh_compiler() -> None:
    """torch.compile as in a new process: nothing compiled, no count of how often."""
    torch._dynamo.reset()
