"""What a formula adds up along an axis is as long there as all its tensors together: else it would be counted again."""

from __future__ import annotations

import numpy as np
import pytest

import opbridge as ob
from opbridge.base.errors import OpbridgeError
from opbridge.waist.formulas import formula_operators
from opbridge.waist.schema import Schema

SHORT, LONG = np.full((2, 1), 3, np.float32), np.ones((2, 5), np.float32)
COUNTED_AGAIN = {
    "sum(x, -1, keepdim=True) * y": "along axis -1 what has size 1 there, next to tensors of size 5",
    "sum(x) * y": "along axis -1 what has size 1 there",
    "logsumexp(x, 1, keepdim=True) * y": "along axis -1",
    "cumsum(x, -1) * y": "along axis -1",
}


@pytest.mark.parametrize("formula", COUNTED_AGAIN)
def test_what_would_be_counted_again_is_refused(formula: str) -> None:
    name = f"spans::op{list(COUNTED_AGAIN).index(formula)}"
    op = ob.formula(f"{name}(Tensor x, Tensor y) -> Tensor", formula)
    with pytest.raises(OpbridgeError, match=COUNTED_AGAIN[formula]):
        op(SHORT, LONG)
    op(LONG, LONG)
    op(LONG, LONG[0])
    op(LONG, LONG[:, :1])


def test_what_no_second_copy_changes_is_not() -> None:
    op = ob.formula("spans::mean(Tensor x, Tensor y) -> Tensor", "mean(x, -1, keepdim=True) * y")
    assert op(SHORT, LONG).tolist() == [[3.0] * 5] * 2


def test_a_tensor_that_is_broadcast_inside_the_sum_is_meant_to_be() -> None:
    op = ob.formula("spans::inside(Tensor x, Tensor y) -> Tensor", "sum(x * y, -1)")
    assert op(SHORT, LONG).tolist() == [15.0, 15.0]


def test_parts_that_are_put_together_have_sizes_of_their_own() -> None:
    schema = "spans::parts(Tensor x, Tensor y, Tensor z) -> Tensor"
    op = ob.formula(schema, "concat([z, sum(x, -1, keepdim=True) * y], -1)")
    assert op(LONG, LONG, SHORT).tolist() == [[3.0, *[5.0] * 5]] * 2


@pytest.mark.parametrize("device", ["cpu", "cuda", "npu"])
def test_nothing_is_asked_of_sizes_that_cannot_differ(device: str) -> None:
    def source(formula: str) -> str:
        schema = Schema.parse("m::f(Tensor x, Tensor y) -> Tensor")
        return formula_operators(formula, schema, has_gradient=False).forward.source(device)

    assert "check_spans" not in source("sum(x * y, -1)")
    assert "check_spans" not in source("exp(x) * y")
    assert "ob::check_spans({-1}, {&x}, {&x, &y});" in source("sum(x, -1, keepdim=True) * y")
    # A total is of what a value has left: the largest of y has no axis -1.
    assert "ob::check_spans({-1}, {&x}, {&x, &y});" in source("sum(x * max(y, -1, keepdim=True))")
