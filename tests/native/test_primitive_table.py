"""The way from a call in MindSpore to its primitive, with objects of Python's in MindSpore's place."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import Any

from opbridge._core import PrimitiveTable


class Tensor:
    dtype = "float32"


def table(find: Callable[[dict[str, Any]], Callable[..., Any]]) -> PrimitiveTable:
    arguments = [("xs", True, True), ("n", False, False)]
    return PrimitiveTable("t::f", "f(Tensor[] xs, int n=0) -> Tensor", arguments, 2, Tensor, {"float32": 7}, find)


def test_a_list_may_be_emptied_while_the_call_runs() -> None:
    """As by another thread, which comes to run where Python code does."""
    xs = [Tensor(), Tensor()]

    def find(_: dict[str, Any]) -> Callable[..., Any]:
        xs.clear()
        gc.collect()
        return lambda *tensors: [type(tensor) for tensor in tensors]

    assert table(find)(xs) == [Tensor, Tensor]


def test_lists_and_tuples_have_one_primitive() -> None:
    found = []
    call = table(lambda bound: found.append(bound) or (lambda *tensors: len(tensors)))  # type: ignore[func-returns-value]
    x = Tensor()
    assert [call([x, x]), call((x, x)), call([x, None, x]), call([])] == [2, 2, 2, 0]
    assert len(found) == 3


def test_what_was_found_before_all_was_forgotten_is_found_anew() -> None:
    """It may be the primitive of an operator that was defined again meanwhile."""
    made: list[int] = []

    def find(_: dict[str, Any]) -> Callable[..., Any]:
        made.append(len(made))
        if len(made) == 1:
            call.clear()
        return functools.partial(lambda count, *_: count, len(made))

    call = table(find)
    assert [call([Tensor()]) for _ in range(3)] == [1, 2, 2]
