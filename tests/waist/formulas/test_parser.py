"""What a formula must not say: each mistake has a place, what was expected, and what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opbridge.base.errors import Location, ManifestError, RuleError
from opbridge.waist.formulas import formula_operators
from opbridge.waist.formulas.parser import FORMULA_FUNCTIONS
from opbridge.waist.manifest import Manifest
from opbridge.waist.schema import Schema

BINARY = "f(Tensor x, Tensor y, *, float a=1.0, str mode='up') -> Tensor"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("x * sigmod(y)", "1:5: unknown function 'sigmod'", "did you mean 'sigmoid'?"),
        ("x * z", "1:5: 'z' is not an argument of m::f, nor a part named before", ""),
        ("s = x\nx + t", "2:5: 't' is not an argument", ""),
        ("x @ y", "a product of matrices is more than one pass", "write a kernel"),
        ("x.shape * y", "computes with elements, not with sizes", "mean(x) divides"),
        ("sum(x)[0] + y", "has no meaning in a formula", ""),
        ("x - mean(x, -1)", "'x' is combined with values that lost axes, and", "keepdim=True"),
        ("x - mean(y, -1) * max(x * y, -1, keepdim=True)", "one part has lost axes that the other has", "keepdim=True"),
        ("softmax(x - max(x, 0, keepdim=True), -1)", "reduces over", "make it two operators"),
        ("sum(sum(x, -1), 0)", "1:1: a second pass over what is reduced already", "make it two operators"),
        ("sqrt(sum(logsumexp(x, -1)))", "is two passes over memory", "make it two operators"),
        ("mean(x, a)", "expected the axes as numbers", "axis=-1"),
        ("mean(x, [0, -1])", "expected different axes, counted from one end", ""),
        ("mean(x, -1, keepdm=True)", "mean() has no parameter 'keepdm'", "x, axis and keepdim"),
        ("where(x, x, y)", "'x' stands for a number and for a condition", "x != 0"),
        ("where(x > 0, y)", "where() takes 3 values, got 2", ""),
        ("mode + x", "'mode' is a str", "mode == 'tanh'"),
        ("a == 'up'", "only a str compares with a text", ""),
        ("tril(x) + y", "tril() is for gradients", "write a kernel"),
        ("astype(x, int32)", "computes with floating-point numbers, not with int32", ""),
        ("s = x", "'s' is named and then not used", "the last line is the value"),
        ("x = y\nx", "'x' is taken already", ""),
        ("x, y", "expected 1 value, got 2", ""),
        ("a * 2", "depends on no tensor", ""),
        ("", "expected a formula, got nothing", ""),
        ("x +", "expected a value, got the end", ""),
        ("expand_dims(x, -1)", "has not lost these axes", ""),
        ("max(x, keepdim=True)", "has a shape that no rule can say", "name the axes"),
        ("clip(x)", "clip() takes x, min and max", "clip(x, 0, 6)"),
    ],
)
def test_mistakes(text: str, message: str, hint: str) -> None:
    with pytest.raises(RuleError) as caught:
        formula_operators(text, Schema.parse(BINARY).with_namespace("m"), Location("ops.yaml", 1, 1, text))
    assert message in str(caught.value)
    assert hint in caught.value.hint


def test_two_passes_are_offered_as_two_operators() -> None:
    text = "m = max(x * y, 0, keepdim=True)\nz = exp(a * x - m)\nz / sum(z, -1, keepdim=True)"
    with pytest.raises(RuleError) as caught:
        formula_operators(text, Schema.parse(BINARY).with_namespace("m"))
    assert caught.value.hint == (
        "make it two operators:\n"
        "    - func: f_part(Tensor x, Tensor y) -> Tensor\n"
        "      formula: max(x * y, 0, keepdim=True)\n"
        "    - func: f(Tensor x, Tensor part, *, float a=1.0) -> Tensor\n"
        "      formula: m = part; z = exp(a * x - m); z / sum(z, -1, keepdim=True)"
    )


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("m::f(Tensor(a!) x) -> Tensor(a!)", "a formula writes to no argument"),
        ("m::f(Tensor[] x) -> Tensor", "no formula takes 'x', which is Tensor[]"),
        ("m::f(Tensor x, float? a=None) -> Tensor", "no formula takes 'a', which is float?"),
        ("m::f(float a) -> Tensor", "a formula goes from tensors to tensors"),
        ("m::f(Tensor x) -> ()", "a formula goes from tensors to tensors"),
        ("m::f(Tensor x) -> int", "a formula makes new tensors"),
    ],
)
def test_schemas_that_have_no_formula(schema: str, message: str) -> None:
    with pytest.raises(RuleError) as caught:
        formula_operators("x", Schema.parse(schema))
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["grad", "grads", "result", "results"])
def test_names_that_formulas_of_gradients_have(name: str) -> None:
    with pytest.raises(RuleError, match=f"'{name}' is what the gradient's formula calls its own"):
        formula_operators("x", Schema.parse(f"m::f(Tensor x, Tensor {name}) -> Tensor"))


def test_a_manifest_says_formula_instead_of_kernels() -> None:
    text = "namespace: m\nops:\n- func: f(Tensor x) -> Tensor\n  formula: x * sigmoid(x)\n  flops: 5 * x.numel\n"
    manifest = Manifest.parse(text)
    assert [op.schema.name for op in manifest.ops] == ["f", "f_backward"]
    assert str(manifest.ops[0].rules.flops) == "5 * x.numel"
    assert manifest.ops[0].rules.batch == "elementwise"
    assert Manifest.parse(str(manifest)) == manifest
    assert "backward" not in str(manifest)


def test_a_place_in_a_manifest() -> None:
    with pytest.raises(ManifestError, match=r"ops\.yaml:4:16: unknown function 'sigmod'"):
        Manifest.parse("namespace: m\nops:\n- func: f(Tensor x) -> Tensor\n  formula: x * sigmod(x)\n")


def test_a_name_that_the_backward_needs_is_not_another_operators() -> None:
    text = (
        "namespace: m\nops:\n- func: f(Tensor x) -> Tensor\n  formula: sin(x)\n"
        "- func: f_backward(Tensor x) -> Tensor\n  formula: x\n"
    )
    with pytest.raises(ManifestError, match="is the name of this formula's gradient, and already declared"):
        Manifest.parse(text)


def test_a_gradient_that_is_said_is_not_derived() -> None:
    text = "namespace: m\nops:\n- func: f(Tensor x) -> Tensor\n  formula: sin(x)\n  derivatives: {x: grad * cos(x)}\n"
    manifest = Manifest.parse(text)
    assert [op.schema.name for op in manifest.ops] == ["f"]


def test_a_place_in_a_formula_that_stands_in_no_file() -> None:
    with pytest.raises(RuleError) as caught:
        formula_operators("s = x\n  s * sigmod(x)", Schema.parse("m::f(Tensor x) -> Tensor"))
    assert str(caught.value) == (
        "formula of m::f: unknown function 'sigmod'\n    s * sigmod(x)\n        ^\n  did you mean 'sigmoid'?"
    )


def test_each_function_stands_in_the_tables_of_the_documentation() -> None:
    page = (Path(__file__).parents[3] / "docs/formula.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`[^|]*) \|", page, re.MULTILINE)
    shown = {word for cell in cells for word in re.findall(r"\w+", cell)}
    assert shown >= set(FORMULA_FUNCTIONS)
