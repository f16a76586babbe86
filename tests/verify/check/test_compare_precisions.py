"""Operators that PyTorch implements are compared in float32 with float64, too; only what oneDNN does is no failure."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import opbridge as ob
from opbridge.verify.check import Row, Status, check
from opbridge.verify.check.checks import row
from opbridge.verify.check.drivers import driver
from opbridge.verify.check.operator_under_test import OperatorUnderTest
from opbridge.verify.check.results import Settings
from opbridge.waist.op import OpLibrary


@pytest.fixture(scope="module")
def library() -> OpLibrary:
    loaded: OpLibrary = ob.load(Path(__file__).parent / "correct" / "aten.yaml")
    return loaded


@pytest.fixture
def planted() -> Iterator[None]:
    """PyTorch's own relu swallows NaN in float32, in this process and for the time of one test."""

    def swallow(x: torch.Tensor) -> torch.Tensor:
        return torch.where(x > 0, x, 0) if x.dtype is torch.float32 else x.clamp_min(0)

    with torch.library._scoped_library("aten", "IMPL") as replaced, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns that its kernel is replaced
        replaced.impl("relu", swallow, "CPU")
        yield


def specials_here(library: OpLibrary, name: str) -> Row:
    """The row `specials`, from this process, in which a bug may be planted."""
    found = row("specials", OperatorUnderTest(library[name], driver("numpy"), Settings(), lambda text: None))
    assert found is not None
    return found


def test_a_nan_swallowed_by_an_operator_with_the_name_of_pytorchs_is_found(library: OpLibrary, planted: None) -> None:
    found = specials_here(library, "relu")
    assert found.status is Status.FAILED
    assert found.message.startswith("gives a number instead of NaN at place 45 with NaN in self, for odd: ")


@pytest.mark.matrix("test_a_nan_swallowed_by_an_operator_with_the_name_of_pytorchs_is_found")
def test_pytorchs_own_operators_pass_and_what_onednn_makes_of_infinity_is_told(library: OpLibrary) -> None:
    relu, gelu = check([library.relu, library.gelu], frameworks=["numpy"], checks=["specials"])
    assert (relu.status, relu.message) == (Status.PASSED, "NaN, infinity, -infinity, -0.0, denormals in 1 input")
    assert gelu.status is Status.PASSED
    infinite = torch.full((91,), torch.inf)
    assert ("oneDNN" in gelu.message) is bool(torch.nn.functional.gelu(infinite).isnan().any())
