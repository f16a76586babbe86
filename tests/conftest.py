"""What tests of several folders share: the operators of tests/kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

import opbridge as ob
from opbridge.op import OpLibrary

KERNELS = Path(__file__).parent / "kernels"


@pytest.fixture(scope="session")
def kernels() -> Path:
    """The folder of the shared kernels and their ops.yaml."""
    return KERNELS


@pytest.fixture(scope="session")
def lib() -> OpLibrary:
    library: OpLibrary = ob.load(KERNELS / "ops.yaml")
    return library
