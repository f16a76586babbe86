"""`derivatives` and `backward`: what formulas compute, what they save, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from opbridge.base.errors import RuleError
from opbridge.waist.rules import ARRAY_FUNCTIONS, DTYPES, Formula, Rules, evaluate, formula_environment
from opbridge.waist.rules.value_kinds import Kind
from opbridge.waist.schema import Schema

Array = NDArray[Any]

MUL = Schema.parse("mylib::mul(Tensor x, Tensor y, *, float alpha=1.0, Tensor? bias=None, int[] axes=[]) -> Tensor")
SPLIT = Schema.parse("mylib::split(Tensor x, Tensor[] rest) -> (Tensor low, Tensor high)")
OPERATORS = {
    schema.full_name: schema
    for schema in map(
        Schema.parse,
        [
            "mylib::scale(Tensor x, float factor, *, bool fast=False) -> Tensor",
            "mylib::pair(Tensor x) -> (Tensor, Tensor)",
            "mylib::mul_backward(Tensor grad, Tensor x, Tensor y, *, float alpha) -> (Tensor, Tensor, Tensor)",
            "mylib::xy_backward(Tensor grad, Tensor x, Tensor y, float slack=0.) -> (Tensor grad_y, Tensor grad_x)",
            "mylib::lost_backward(Tensor grad, Tensor z) -> Tensor",
            "mylib::strict_backward(Tensor grad, Tensor bias) -> Tensor",
            "mylib::typed_backward(Tensor grad, int alpha) -> Tensor",
            "mylib::split_backward(Tensor grad_low, Tensor grad_high, Tensor low, Tensor[] rest) -> (Tensor, Tensor[])",
            "mylib::grads_backward(Tensor[] grads, Tensor[] results) -> Tensor",
        ],
    )
}


def sum_to(x: Array, shape: tuple[int, ...]) -> Array:
    lead = x.ndim - len(shape)
    axes = (*range(lead), *(lead + i for i, size in enumerate(shape) if size == 1))
    return np.reshape(np.sum(x, axis=axes, keepdims=True), shape)


FUNCTIONS: dict[str, Any] = {
    "sum": np.sum,
    "where": np.where,
    "exp": np.exp,
    "zeros_like": np.zeros_like,
    "astype": lambda x, dtype: x.astype(dtype),
    "concat": lambda arrays, axis=0: np.concatenate(arrays, axis),
    "sum_to": sum_to,
    "mylib::scale": lambda x, factor, fast=False: x * factor,
    "aten::neg": np.negative,
    "float16": np.float16,
}


def derivative(text: str, schema: Schema = MUL, argument: str = "x") -> Formula:
    rules = Rules.parse({"derivatives": {argument: text}, "out": _out(schema)}, schema, operators=OPERATORS)
    return rules.derivatives[0].formula


def _out(schema: Schema) -> object:
    return ["x"] * len(schema.new_outputs)


X, Y, GRAD, RESULT = (np.arange(6.0).reshape(2, 3) + shift for shift in range(4))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("grad * y", GRAD * Y),
        ("-grad * alpha ** 2 / y", -GRAD * 0.25 / Y),
        ("grads[0] @ y.T", GRAD @ Y.T),
        ("grad * result - results[0] * grad", np.zeros((2, 3))),
        ("where(x > 0, grad, 0)", np.where(X > 0, GRAD, 0)),
        ("grad if alpha > 1 else grad * y.shape[-1]", GRAD * 3),
        ("sum_to(grad * y, [3])", (GRAD * Y).sum(0)),
        ("sum_to(grad, x.shape[:-1] + [1])", GRAD.sum(1, keepdims=True)),
        ("sum(grad, (0, 1), keepdims=True) / x.numel", GRAD.sum(keepdims=True) / 6),
        ("grad[..., ::-1][:, None]", GRAD[..., ::-1][:, None]),
        ("concat([grad, x], axis=-1)", np.concatenate([GRAD, X], -1)),
        ("astype(grad, float16)", GRAD.astype(np.float16)),
        ("scale(grad, alpha, fast=True)", GRAD * 0.5),
        ("mylib::scale(grad, factor=2)", GRAD * 2),
        ("aten::neg(grad)", -GRAD),
        ("grad if bias is None and not x.ndim == 1 else None", GRAD),
    ],
)
def test_formulas_compute(text: str, expected: Array) -> None:
    arguments = {"x": X, "y": Y, "alpha": 0.5, "bias": None, "axes": []}
    environment = formula_environment(MUL, arguments, {0: GRAD}, {0: RESULT})
    formula = derivative(text)
    np.testing.assert_allclose(evaluate(formula.expr, environment, FUNCTIONS), expected)


@pytest.mark.parametrize(
    ("text", "schema", "needs"),
    [
        ("grad * y * alpha", MUL, (("y", "alpha"), (0,), ())),
        ("grad * result", MUL, ((), (0,), (0,))),
        ("grad_high * low", SPLIT, ((), (1,), (0,))),
        ("grads[1] + results[1]", SPLIT, ((), (1,), (1,))),
        ("mylib::grads_backward(grads, results)", SPLIT, ((), (0, 1), (0, 1))),
    ],
)
def test_a_formula_says_what_to_save(text: str, schema: Schema, needs: tuple[Any, ...]) -> None:
    formula = derivative(text, schema)
    assert (formula.arguments, formula.grads, formula.results) == needs


def test_operators_of_the_library_print_by_their_full_name() -> None:
    assert str(derivative("scale(grad, 2.0)")) == "mylib::scale(grad, 2.0)"


def test_one_formula_for_several_arguments() -> None:
    fields = {"out": "x", "derivatives": {"x, y": "pair(grad)", "bias": "grad"}}
    rules = Rules.parse(fields, MUL, operators=OPERATORS)
    assert [item.arguments for item in rules.gradients] == [("x", "y"), ("bias",)]


@pytest.mark.parametrize(
    ("derivatives", "message"),
    [
        ({"z": "grad"}, "'z' is not an argument"),
        ({"alpha": "grad"}, "only a tensor has a derivative; 'alpha' is float"),
        ({"x": "grad", "x, y": "pair(grad)"}, "given twice"),
        ({"x": "grd"}, "did you mean 'grad'?"),
        ({"x": "grads[1]"}, "has 1 outputs"),
        ({"x": "x.shape[0]"}, "expected a tensor for the gradient of x, got an int"),
        ({"x": "0"}, "zeros_like(x)"),
        ({"x": "pair(grad)"}, "got 2 values"),
        ({"x, y": "[grad]"}, "expected 2 tensors for the gradient of x, y, got 1 values"),
        ({"x": "summ(grad)"}, "did you mean 'sum'?"),
        ({"x": "sum(grad, keepdim=True)"}, "did you mean 'keepdims'?"),
        ({"x": "sum(grad, 0, axis=0)"}, "got axis twice"),
        ({"x": "sum()"}, "needs x"),
        ({"x": "exp(grad, x)"}, "takes 1 positional"),
        ({"x": "exp(x.shape)"}, "got a shape"),
        ({"x": "reshape(grad, 3)"}, "got an int for shape"),
        ({"x": "scale(grad)"}, "needs factor"),
        ({"x": "scale(grad, 'fast')"}, "expected float for factor"),
        ({"x": "other::f(grad)"}, "unknown function"),
        ({"x": "grad.sum"}, "write sum(grad)"),
        ({"x": "grad.device"}, "has no attribute"),
        ({"x": "grad if x > 0 else 0"}, "write where(x > 0, grad, 0)"),
        ({"x": "grad if not x else x"}, "logical_not(x)"),
        ({"x": "grad if x == 1 and y == 1 else x"}, "logical_and(x == 1, y == 1)"),
        ({"x": "grad + x.shape"}, "expected arrays and numbers"),
        ({"x": "grad @ 2"}, "two arrays"),
        ({"x": "grad[x]"}, "take(x, indices, axis)"),
        ({"x": "grad if alpha == None else x"}, "write x is None"),
        ("grad", "expected formulas by argument"),
    ],
)
def test_what_cannot_be_meant_is_refused(derivatives: object, message: str) -> None:
    with pytest.raises(RuleError) as caught:
        Rules.parse({"out": "x", "derivatives": derivatives}, MUL, operators=OPERATORS)
    assert message in str(caught.value)


def test_a_name_with_two_meanings_is_not_guessed() -> None:
    schema = Schema.parse("mylib::relu_backward(Tensor grad, Tensor x) -> Tensor")
    with pytest.raises(RuleError, match=r"write grads\[i\]"):
        derivative("grad * x", schema, "grad")
    assert derivative("grads[0] * x", schema, "grad").grads == (0,)


def test_what_returns_nothing_has_no_derivative() -> None:
    schema = Schema.parse("mylib::log(Tensor x) -> ()")
    with pytest.raises(RuleError, match="no derivatives"):
        Rules.parse({"derivatives": {"x": "x"}}, schema)


def backward(value: object, schema: Schema = MUL) -> Rules:
    return Rules.parse({"out": _out(schema), "backward": value}, schema, operators=OPERATORS)


@pytest.mark.parametrize(
    ("value", "schema", "arguments", "call"),
    [
        ("mul_backward", MUL, ("x", "y", "bias"), "mylib::mul_backward(grad, x, y, alpha=alpha)"),
        ("mylib::xy_backward", MUL, ("y", "x"), "mylib::xy_backward(grad, x, y)"),
        ({"x, y": "xy_backward"}, MUL, ("x", "y"), "mylib::xy_backward(grad, x, y)"),
        ("split_backward", SPLIT, ("x", "rest"), "mylib::split_backward(grad_low, grad_high, low, rest)"),
        ({"x": "grads_backward"}, SPLIT, ("x",), "mylib::grads_backward(grads, results)"),
    ],
)
def test_a_backward_operator_is_given_what_it_names(
    value: object, schema: Schema, arguments: tuple[str, ...], call: str
) -> None:
    (derivative,) = backward(value, schema).gradients
    assert (derivative.arguments, str(derivative.formula)) == (arguments, call)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("mul_backwards", "unknown backward operator"),
        ("aten::mul", "derivatives can call aten::name"),
        ("scale", "returns 1 values for the gradients of x, y, bias"),
        ({"x": "lost_backward"}, "asks for 'z'"),
        ({"x": "strict_backward"}, "make it optional"),
        ({"x": "typed_backward"}, "takes int alpha, mylib::mul has float of that name"),
        ({"x": "scale", "y": "scale"}, "expected one operator"),
        ({"q": "scale"}, "'q' is not an argument"),
    ],
)
def test_a_backward_operator_that_does_not_fit_is_refused(value: object, message: str) -> None:
    with pytest.raises(RuleError) as caught:
        backward(value)
    assert message in str(caught.value)


def test_array_functions_are_well_formed() -> None:
    for function in ARRAY_FUNCTIONS.values():
        names = [parameter.name for parameter in function.parameters]
        assert len(set(names)) == len(names)
        required = [parameter.required for parameter in function.parameters]
        assert required == sorted(required, reverse=True)
        for parameter in function.parameters:
            assert parameter.required or parameter.default is not None or Kind.NONE in parameter.accepts
    assert str(ARRAY_FUNCTIONS["sum"]) == "sum(x, axis=None, keepdims=False)"
    assert not set(ARRAY_FUNCTIONS) & set(DTYPES)
