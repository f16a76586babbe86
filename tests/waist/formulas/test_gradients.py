"""Derived gradients as formulas, held against PyTorch's own differentiation of the same text, with nothing compiled."""

from __future__ import annotations

from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.formula_library import torch_value
from tests.helpers.random_formulas import formula_texts

from opbridge.waist.formulas import formula_operators
from opbridge.waist.manifest import OpSpec
from opbridge.waist.schema import Schema

SCHEMA = Schema.parse("formulas::f(Tensor x, Tensor y, *, float a=0.7) -> Tensor")


@given(formula_texts(), st.integers(0, 2**31))
def test_gradients_of_random_formulas(text: str, seed: int) -> None:
    found = dict(formula_operators(text, SCHEMA).gradients)
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn((3, 4), dtype=torch.double, generator=generator).requires_grad_()
    y = torch.randn((4,), dtype=torch.double, generator=generator).requires_grad_()
    values: dict[str, Any] = {"x": x, "y": y, "a": 0.7}
    result = torch_value(text, values)
    grad = torch.randn(result.shape, dtype=torch.double, generator=generator)
    expected = torch.autograd.grad(result, [values[name] for name in found], grad)
    got = [torch_value(of_one, {**values, "grad": grad}) for of_one in found.values()]
    for mine, theirs in zip(got, expected, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-6, atol=1e-8)


def test_what_is_saved_is_what_reads_no_more_tensors() -> None:
    def call(schema: str, text: str) -> object:
        return formula_operators(text, Schema.parse(schema)).forward.rules["derivatives"]

    one = "formulas::f(Tensor x) -> Tensor"
    assert call(one, "softmax(x, -1)") == {"x": "formulas::f_backward(grad, result)"}
    assert call(one, "sin(x)") == {"x": "formulas::f_backward(grad, x)"}
    assert call(one, "sum(x, -1)") == {"x": "formulas::f_backward(grad, x)"}  # for its shape
    assert call(one, "floor(x)") == {"x": "zeros_like(x)"}
    assert call("formulas::f(Tensor x, Tensor y, *, float a=1.0) -> Tensor", "a * x / y") == {
        "x, y": "formulas::f_backward(grad, x, y, a)"
    }


def test_second_derivatives_that_nest_too_deeply_are_left_out() -> None:
    text = "x"
    for _ in range(12):
        text = f"sin({text} * y)"
    found = formula_operators(text, Schema.parse("formulas::f(Tensor x, Tensor y) -> Tensor"))
    assert found.backward is not None
    assert "derivatives" in found.forward.rules
    assert "derivatives" not in found.backward.rules


def test_gradients_of_several_tensors_are_mapped_one_by_one() -> None:
    for schema, text, batch in (
        ("formulas::f(Tensor x) -> Tensor", "sin(x)", "elementwise"),
        ("formulas::f(Tensor x, Tensor y) -> Tensor", "sin(x) * y", "loop"),
    ):
        found = formula_operators(text, Schema.parse(schema))
        assert found.backward is not None
        assert found.backward.rules["batch"] == batch


def test_gradients_are_said_as_formulas() -> None:
    schema = Schema.parse("formulas::f(Tensor x) -> Tensor")
    assert formula_operators("x * sigmoid(x)", schema).gradients == (
        ("x", "grad * sigmoid(x) + grad * x * sigmoid(x) * (1 - sigmoid(x))"),
    )


def test_conditions_on_functions_of_numbers_are_those_of_arrays() -> None:
    """What `cos(a)` is, frameworks have as an array, even where `a` is a number."""
    found = formula_operators("where(cos(a) > a * 0.9, x, y) * x", SCHEMA)
    assert dict(found.gradients)["y"] == "sum_to(where(cos(a) > a * 0.9, 0, grad * x), y.shape)"
    OpSpec.of_formula(SCHEMA, "where(cos(a) > a * 0.9, x, y) * x")  # reads the gradients of the gradients
