"""One library of right and broken operators for all tests of checks, built once."""

from __future__ import annotations

from pathlib import Path

import pytest

import opbridge as ob
from opbridge.waist.op import OpLibrary

FOLDER = Path(__file__).parent / "operators"


@pytest.fixture(scope="session")
def operators() -> OpLibrary:
    library: OpLibrary = ob.load(FOLDER / "ops.yaml")
    return library
