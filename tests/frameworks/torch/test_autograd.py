"""What `ob.autograd` refuses before the first call, with the names that do not fit."""

from __future__ import annotations

from typing import Any

import pytest

import opbridge as ob
from opbridge.base.errors import CallError, SchemaError, UnsupportedError


def cell(x: Any, weights: Any, scale: float = 2.0) -> Any:
    raise AssertionError("nothing is called before there is a call")


def cell_backward(grad_h: Any, grad_c: Any, x: Any, gates: Any) -> Any:
    raise AssertionError("nothing is called before there is a call")


def define(**changes: Any) -> Any:
    fields = {"outputs": ("h", "c"), "saved": ("x", "gates"), "forward": cell, "backward": cell_backward}
    return ob.autograd(**{**fields, **changes})


def test_names_that_fit_are_taken() -> None:
    assert define().__name__ == "cell"


def test_the_function_has_the_signature_of_forward() -> None:
    import inspect

    assert str(inspect.signature(define())) == "(x, weights, scale=2.0)"


def test_a_schema_may_have_a_default_before_what_has_to_be_given() -> None:
    import inspect

    function = ob.autograd(
        forward=lambda x, scale, shift: x * scale + shift,
        backward=lambda grad, scale: grad * scale,
        saved="scale",
        schema="fnref::shifted(Tensor x, float scale=2.0, *, float shift) -> Tensor",
        out="x",
    )
    assert str(inspect.signature(function)) == "(x, scale=2.0, *, shift)"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"saved": "x"}, r"takes 4 arguments \(grad_h, grad_c, x, gates\), and would be given 3: .*gradient of h.*, x"),
        ({"outputs": ("h", "c", "more")}, "would be given 5"),
        ({"outputs": None, "saved": ("x", "gates")}, "saved= names 'gates', .* an output needs a name first"),
        ({"outputs": None, "saved": ("x", "weight")}, "did you mean 'weights'"),
        ({"outputs": ("h", "x")}, "'x', which is an argument and an output"),
        ({"saved": ("x", "x")}, "'x' appears twice"),
        ({"saved": ("x", "a b")}, r"expected names such as \('x', 'weights'\), got 'a b'"),
        ({"gradients": ("x", "weight")}, "gradients= names 'weight', .* did you mean 'weights'"),
        ({"nondifferentiable": "z"}, "nondifferentiable= names 'z', .* it returns h, c"),
        ({"inputs": ("x", "weights")}, r"takes 3 arguments \(x, weights, scale\), and inputs= names 2"),
        ({"forward": lambda *tensors: tensors}, "nothing tells what its arguments are; name them"),
        ({"forward": 3}, r"autograd\(forward=...\) expects a function, got int"),
        ({"double_backward": "yes"}, "double_backward=.* expects a function, or True"),
        ({"out": "x"}, "out= describes the outputs of an operator, and needs schema="),
    ],
)
def test_what_does_not_fit_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(CallError, match=message):
        define(**changes)


def test_a_second_derivative_cannot_go_through_hidden_outputs() -> None:
    with pytest.raises(UnsupportedError, match=r"gates must also be differentiated .* name them in outputs="):
        define(double_backward=lambda *values: values)


SCHEMA = "fnref::cell(Tensor x, Tensor weights, float scale=2.0) -> (Tensor h, Tensor c, Tensor gates)"


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"schema": "cell(Tensor x, Tensor w, float s) -> (Tensor, Tensor, Tensor)"}, SchemaError, "needs a namespace"),
        (
            {"schema": "fnref::cell(Tensor x) -> (Tensor h, Tensor c, Tensor gates)"},
            CallError,
            "the schema has 1 argument",
        ),
        ({"schema": SCHEMA.replace("cell", "cell.fast")}, UnsupportedError, "leave '.fast' out"),
        ({"schema": SCHEMA.replace("Tensor x", "Tensor(a!) x")}, UnsupportedError, "'x' is written to"),
        ({"schema": SCHEMA.replace("Tensor weights", "Tensor[] weights")}, UnsupportedError, "a list of tensors"),
        (
            {"schema": SCHEMA.replace("Tensor h", "Tensor y")},
            CallError,
            "expected the first of what the schema returns",
        ),
        ({"schema": SCHEMA, "gradients": ("x", "scale")}, CallError, "'scale', which is not a tensor but float scale"),
        ({"schema": SCHEMA, "out": None}, ob.OpbridgeError, "needs an out rule"),
        ({"schema": SCHEMA, "out": ["x", "x"]}, ob.OpbridgeError, "expected 3 rules"),
        (
            {"schema": "fnref::cell(Tensor x, Tensor weights, float scale=2.0) -> (Tensor, Tensor, Tensor, Tensor)"},
            CallError,
            r"the schema returns 4 outputs, .* \(h, c\) and saved= 1 more \(gates\)",
        ),
    ],
)
def test_a_schema_is_held_against_the_functions(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        define(**{"out": ["x", "x", "x"], **changes})


def test_an_operator_does_not_show_what_its_backward_does() -> None:
    with pytest.raises(UnsupportedError, match="an operator hides from PyTorch what backward does"):
        ob.autograd(
            forward=lambda x: x,
            backward=lambda grad: grad,
            double_backward=True,
            schema="fnref::id(Tensor x) -> Tensor",
            out="x",
        )
