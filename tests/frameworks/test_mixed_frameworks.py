"""Calls with tensors of several frameworks: an error that names them, whatever the operator and the pair."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import opbridge as ob
from opbridge.base.errors import CallError
from opbridge.waist.op import Op

torch = pytest.importorskip("torch")
ms = pytest.importorskip("mindspore")
jnp = pytest.importorskip("jax.numpy")

X = np.ones((2, 2), np.float32)
MAKE: dict[str, Callable[[], Any]] = {
    "torch": lambda: torch.from_numpy(X.copy()),
    "numpy": lambda: X,
    "mindspore": lambda: ms.Tensor(X),
    "jax": lambda: jnp.asarray(X),
}
TAKES_NUMPY = "jax"
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "by place": lambda a, b: ob.aten("add")(a, b),
    "by name": lambda a, b: ob.aten("add")(a, other=b),
    "in a list": lambda a, b: ob.aten("cat")([a, b]),
    "a shape from values": lambda a, b: ob.aten("index.Tensor")(a, [b]),
}


@pytest.fixture(scope="module")
def summed() -> Op:
    return ob.formula("mixed_frameworks::summed(Tensor a, Tensor b) -> Tensor", "a + b")


@pytest.mark.parametrize(("first", "second"), [*permutations(MAKE, 2)])
def test_two_frameworks_in_one_call_are_an_error(summed: Op, first: str, second: str) -> None:
    for call in (summed, *CALLS.values()):
        if {first, second} == {"numpy", TAKES_NUMPY}:
            continue
        with pytest.raises(CallError, match="one framework"):
            call(MAKE[first](), MAKE[second]())


@pytest.mark.parametrize("view", ["mindspore", "jax"])
def test_a_view_refuses_tensors_of_another_framework(view: str) -> None:
    for name in ("neg", "zeros_like", "_unique2"):
        with pytest.raises(CallError, match=r"got a torch\.Tensor; .* op\.torch takes a torch\.Tensor"):
            getattr(ob.aten(name), view)(MAKE["torch"]())


def test_an_error_of_one_framework_stays_as_it_is(summed: Op) -> None:
    with pytest.raises(RuntimeError, match="size of tensor a"):
        ob.aten("add")(torch.ones(2), torch.ones(3))
