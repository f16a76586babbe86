"""What is said beside a formula is held against it, when it is read."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.helpers.formula_library import torch_value
from tests.waist.formulas.test_formulas import ELEMENTWISE, PICKED, REDUCED

from opbridge.base.errors import ManifestError, RuleError
from opbridge.waist.formulas.number_evaluation import row_of
from opbridge.waist.formulas.parser import read_formula
from opbridge.waist.manifest import Manifest, OpSpec
from opbridge.waist.schema import Schema

SCHEMA = "said::f(Tensor x, Tensor y, *, float a=0.7) -> Tensor"


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("x * sin(y)", {"out": "x"}),  # where y is never larger
        ("sum(x * y, -1)", {"out": {"shape": "x.shape[:-1]"}}),
        ("x * y", {"batch": "elementwise", "shard": "elementwise", "flops": "7 * x.numel"}),
        ("sum(x * y, 0)", {"batch": "loop"}),
        ("sum(x * y, -1)", {"batch": "elementwise"}),
        ("x * sin(y) ** a", {"derivatives": {"x": "grad * sin(y) ** a", "y": "result * a * grad / tan(y)"}}),
        ("softmax(x, -1) * y", {"derivatives": {"y": "grad * result / y"}}),
        # What has the functions of arrays is held by `opbridge check`.
        ("x * y", {"derivatives": {"x": "sum_to(grad * y, x.shape)", "y": "sum_to(grad * x, y.shape)"}}),
    ],
)
def test_what_is_right_may_be_said(text: str, rules: dict[str, Any]) -> None:
    OpSpec.of_formula(SCHEMA, text, **rules)


@pytest.mark.parametrize(
    ("text", "rules", "message"),
    [
        (
            "sum(x * y, -1)",
            {"out": "x"},
            r"for x \[5, 2, 3, 4\], y \[5, 2, 3, 4\] `out` says \[5, 2, 3, 4\] of float32, "
            r"and the formula gives \[5, 2, 3\] of float32\n  what follows is `out: ",
        ),
        ("x > y", {"out": "x"}, r"of float32, and the formula gives \[5, 2, 3, 4\] of bool"),
        ("sum(x * y, 0)", {"batch": "elementwise"}, "reduces axes that a batch in front would change"),
        ("softmax(x * y, -1)", {"shard": "elementwise"}, r"what follows is `shard: \.\.\. d1, "),
        (
            "x * sin(y)",
            {"derivatives": {"x": "grad * sin(y)", "y": "grad * x * sin(y)"}},
            r"the derivative of y is said to be `grad \* x \* sin\(y\)`, which for grad = 0\.791, .* is "
            r"0\.205285; that of the formula is 0\.220952",
        ),
        ("sum(x * y, -1)", {"derivatives": {"x": "expand_dims(grad, -1) * x"}}, "the derivative of x is said to be"),
    ],
)
def test_what_contradicts_the_formula_is_an_error(text: str, rules: dict[str, Any], message: str) -> None:
    with pytest.raises(RuleError, match=message):
        OpSpec.of_formula(SCHEMA, text, **rules)


def test_the_error_names_the_rules_place_in_a_manifest() -> None:
    text = "namespace: said\nops:\n  - func: f(Tensor x) -> Tensor\n    formula: sum(x, -1)\n    out: x\n"
    with pytest.raises(ManifestError, match=r"ops\.yaml:5:"):
        Manifest.parse(text)


@pytest.mark.parametrize("text", [*ELEMENTWISE.values(), *REDUCED.values(), PICKED["layer_norm"], PICKED["divergence"]])
def test_rows_of_numbers_are_what_pytorch_says(text: str) -> None:
    x, y = [0.3, 0.7, 0.45], [0.2, 0.9, 0.7]
    program = read_formula(text, Schema.parse(SCHEMA))
    values = {"x": torch.tensor(x).double(), "y": torch.tensor(y).double(), "a": 0.7}
    expected = torch_value(text.replace(", 1)", ", -1)"), values).double()
    row = row_of(program.outputs[0], {"x": x, "y": y, "a": [0.7]}, 3)
    torch.testing.assert_close(torch.tensor(row).double().expand_as(expected.reshape(-1)), expected.reshape(-1))
