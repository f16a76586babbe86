"""Operators that write to an argument, in MindSpore."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opbridge.base.errors import CallError
from opbridge.waist.op import OpLibrary

ms = pytest.importorskip("mindspore")
ops, nn = ms.ops, ms.nn

Run = Callable[..., Any]


def test_in_place_returns_the_argument_itself(lib: OpLibrary) -> None:
    x, y = ops.zeros(3), ops.ones(3)
    assert lib.scaled_add_(x, y, alpha=2.0) is x
    assert x.asnumpy().tolist() == [2.0, 2.0, 2.0]


def test_out_receives_the_result(lib: OpLibrary) -> None:
    x, out = ops.ones(3), ops.zeros(3)
    assert lib["scaled_add.out"](x, x, alpha=4.0, out=out) is out
    assert out.asnumpy().tolist() == [5.0, 5.0, 5.0]


def test_an_operator_without_return_writes_too(lib: OpLibrary) -> None:
    x, y = ops.zeros(2), ops.full((2,), 9.0, dtype=ms.float32)
    assert lib.swap_(x, y) is None
    assert lib.scaled_add_quietly_(x, ops.ones(2)) is None
    assert (x.asnumpy().tolist(), y.asnumpy().tolist()) == ([10.0, 10.0], [0.0, 0.0])


def test_one_tensor_for_two_that_are_written_to_is_refused(lib: OpLibrary) -> None:
    """What was copied in last won, without a word."""
    x = ops.zeros(2)
    with pytest.raises(CallError, match="arguments 'x' and 'y', which are written to, share memory"):
        lib.swap_(x, x)


@pytest.mark.parametrize("index", [0, (slice(None), 1)], ids=["row", "column"])
def test_a_view_is_refused_as_mindspore_cannot_write_through_one(lib: OpLibrary, index: Any) -> None:
    base = ops.zeros((2, 2))
    with pytest.raises(CallError, match="obtest::scaled_add_: argument 'x', which is written to, is a view"):
        lib.scaled_add_(base[index], ops.ones(2))
    assert base.asnumpy().tolist() == [[0.0, 0.0], [0.0, 0.0]]


class Counter(nn.Cell):  # type: ignore[misc,name-defined]
    def __init__(self, scaled_add_: Any, swap_: Any) -> None:
        super().__init__()
        self.scaled_add_ = scaled_add_
        self.swap_ = swap_
        self.state = ms.Parameter(ops.zeros(2), name="state")
        self.other = ms.Parameter(ops.full((2,), 7.0, dtype=ms.float32), name="other")

    def construct(self, x: Any) -> Any:
        before = self.state * 1
        self.scaled_add_(self.state, x, alpha=2.0)
        between = self.state * 1
        self.scaled_add_(self.state, x)
        after = self.state * 1
        self.swap_(self.state, self.other)
        return before, between, after


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["PyNative", "Graph"])
def test_parameters_change_and_reads_keep_their_order(lib: OpLibrary, mode: int) -> None:
    ms.set_context(mode=mode)
    try:
        counter = Counter(lib.scaled_add_.mindspore, lib.swap_.mindspore)
        steps = [[part.asnumpy()[0] for part in counter(ops.ones(2))] for _ in range(2)]
        assert steps == [[0.0, 2.0, 3.0], [7.0, 9.0, 10.0]]
        assert counter.state.asnumpy().tolist() == [3.0, 3.0]
        assert counter.other.asnumpy().tolist() == [10.0, 10.0]
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_gradients_through_a_write(lib: OpLibrary, run: Run) -> None:
    scaled_add_ = lib.scaled_add_.mindspore

    def function(leaf, y):  # type: ignore[no-untyped-def]
        x = leaf * 3
        x = scaled_add_(x, y, alpha=2.0)
        return (x * x).sum()

    dleaf, dy = run(ms.grad(function, (0, 1)), ops.ones(3), ops.full((3,), 5.0, dtype=ms.float32))
    np.testing.assert_allclose(dleaf.asnumpy(), np.full(3, 2 * 13 * 3))
    np.testing.assert_allclose(dy.asnumpy(), np.full(3, 2 * 13 * 2))


def test_a_formula_of_a_writing_operator_means_the_old_value(lib: OpLibrary, run: Run) -> None:
    square_ = lib.square_.mindspore

    def function(leaf):  # type: ignore[no-untyped-def]
        return square_(leaf * 1).sum()

    gradient = run(ms.grad(function), ms.Tensor(np.array([2.0, 3.0], np.float32)))
    assert gradient.asnumpy().tolist() == [4.0, 6.0]


def test_changing_what_backward_needs_is_noticed(lib: OpLibrary) -> None:
    product, square_ = lib.product.mindspore, lib.square_.mindspore

    def function(leaf):  # type: ignore[no-untyped-def]
        x = leaf * 1
        result = product(x, x)
        square_(x)
        return result.sum()

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        ms.grad(function)(ops.ones(3))


def test_two_arguments_may_be_one_tensor(lib: OpLibrary) -> None:
    x = ops.ones(3)
    lib.scaled_add_(x, x, alpha=4.0)
    assert x.asnumpy().tolist() == [5.0, 5.0, 5.0]
