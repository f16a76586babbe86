"""Bugs that hide from few, small and ordinary inputs are found without a switch; right operators are not accused."""

from __future__ import annotations

from pathlib import Path

import pytest
from chosen_checks import rows_of

import opbridge as ob
from opbridge.verify.check import Row, Status, check
from opbridge.waist.op import OpLibrary

FOLDER = Path(__file__).parent / "planted"
pytestmark = pytest.mark.usefixtures("forked")
FOUND = {
    "shared_buffer": ("threads", "called from 8 threads at once it gives"),
    "sum_in_any_order": ("determinism", "the same call gives"),
    "reads_behind": ("reads", "the process dies of SIGSEGV at planted.cpp:"),
    "reads_before": ("reads", "with memory before each input that nobody may read"),
    "by_way_of_float": ("precision", "loses float64's digits: a change of x by 1e-06"),
    "sum_by_way_of_float": ("precision", "loses float64's digits"),
    "mean_in_half": ("precision", "in float16 it gives"),
    "relu_with_a_tail": ("specials", "gives NaN and a number in one result, everywhere NaN in x"),
    "another_way_in_float": ("specials", "float32 takes another way than float64"),
    "never_ends_for_nan": ("specials", "with NaN in x; does a loop never end"),
    "remembers_the_largest": ("specials", "after calls with special values than before"),
}


@pytest.fixture(scope="module")
def library() -> OpLibrary:
    loaded: OpLibrary = ob.load(FOLDER / "ops.yaml")
    return loaded


@pytest.fixture(scope="module")
def rows(library: OpLibrary, forked: None) -> dict[tuple[str, str], Row]:
    found = rows_of([(library[name], "numpy", row) for name, (row, _) in FOUND.items()], patience=2.0)
    return {(row.operator.partition("::")[2], row.check): row for row in found}


@pytest.mark.parametrize("name", [*FOUND])
def test_a_planted_bug_is_found(rows: dict[tuple[str, str], Row], name: str) -> None:
    where, words = FOUND[name]
    row = rows[name, where]
    assert row.status is Status.FAILED
    assert words in row.message


def test_what_a_reference_alone_can_tell(library: OpLibrary) -> None:
    (row,) = check(library.drops_nan, frameworks=["numpy"], checks=["specials"])
    assert row.status is Status.PASSED
    (row,) = check(library.drops_nan, frameworks=["numpy"], checks=["specials"], reference="aten::relu")
    assert row.message.startswith("gives 0 instead of nan at [3, 6] with NaN in x, for odd: x=float64[7, 13]")


def test_right_operators_are_not_accused() -> None:
    found = check(ob.load(FOLDER / "right.yaml"), frameworks=["numpy"], checks=["reads", "precision", "specials"])
    assert [str(row) for row in found if row.failed] == []
    assert len({row.operator for row in found if row.status is Status.PASSED}) == 30
