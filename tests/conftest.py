"""What tests of several folders share: the operators of tests/kernels."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import settings

import opbridge as ob
from opbridge.op import OpLibrary

# A change fails for what it changed: the same examples in every run. `make fuzz` draws new ones.
settings.register_profile("same examples", derandomize=True)
settings.register_profile("new examples", derandomize=False, print_blob=True)
settings.load_profile("same examples")

KERNELS = Path(__file__).parent / "kernels"
# Modules that tests of several folders share, by their bare names.
sys.path.insert(0, str(Path(__file__).parent / "helpers"))


@pytest.fixture(scope="session")
def kernels() -> Path:
    """The folder of the shared kernels and their ops.yaml."""
    return KERNELS


@pytest.fixture(scope="session")
def lib() -> OpLibrary:
    library: OpLibrary = ob.load(KERNELS / "ops.yaml")
    return library
