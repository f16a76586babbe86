"""All rules of an operator together, and the small languages of `batch` and `shard`."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbridge.base.errors import RuleError
from opbridge.verify.check.checks import TABLE
from opbridge.waist.manifest.fields import OPERATOR
from opbridge.waist.rules import Rules, Sharding
from opbridge.waist.rules.operator_rules import RULES, RuleFields
from opbridge.waist.schema import Schema

NORM = Schema.parse("mylib::norm(Tensor x, Tensor weight, float eps=1e-5) -> (Tensor y, Tensor rstd)")
BACKWARD = Schema.parse("mylib::norm_backward(Tensor grad_y, Tensor x, Tensor rstd) -> (Tensor, Tensor)")
FIELDS: dict[str, object] = {
    "out": ["x", {"shape": "x.shape[:-1] + [1]", "dtype": "float32"}],
    "derivatives": {"x": "grad_y * rstd", "weight": "sum_to(grad * x * rstd, weight.shape)"},
    "batch": "... h, h -> ... h, ... _",
    "shard": "b s h, h -> b s h, b s _",
    "flops": "4 * x.numel",
}


def parse(fields: dict[str, object]) -> Rules:
    return Rules.parse(fields, NORM, operators={BACKWARD.full_name: BACKWARD})


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"derivatives": None, "backward": "norm_backward"},
        {"batch": "loop", "shard": "elementwise", "flops": 12},
        {"out": ["x", "broadcast(x, weight)"], "batch": None, "shard": None, "flops": None},
    ],
)
def test_fields_parse_back_to_equal_rules(change: dict[str, object]) -> None:
    rules = parse({**FIELDS, **change})
    assert parse(rules.fields()) == rules


def test_canonical_fields_are_given_back_as_written() -> None:
    assert parse(FIELDS).fields() == FIELDS


def test_gradients_are_the_same_whichever_way_they_are_written() -> None:
    by_operator = parse({"out": FIELDS["out"], "backward": "norm_backward"})
    written_out = parse({"out": FIELDS["out"], "derivatives": {"x, weight": "norm_backward(grad_y, x, rstd)"}})
    assert by_operator.gradients == written_out.gradients


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dervatives": {}}, "did you mean 'derivatives'?"),
        ({"backward": "norm_backward"}, "keep one of them"),
        ({"flops": "x.numel / 2"}, "expected an int"),
        ({"batch": "elementwse"}, "did you mean 'elementwise'?"),
        ({"batch": "h, ... h -> h, ... _"}, "in every output"),
        ({"batch": "h ..., h -> ... h, ..."}, "comes first"),
        ({"shard": "loop"}, "expected elementwise"),
        ({"shard": "b h, h -> b h"}, "expected 2 groups of dimensions, for y, rstd; got 1"),
        ({"shard": "b h -> b h, b"}, "for x, weight; got 1"),
        ({"shard": "b h, h -> b h, c"}, "no input has the dimension 'c'"),
        ({"shard": "b b, h -> b h, b"}, "'b' appears twice"),
        ({"shard": "b 3, h -> b h, b"}, "expected a dimension's name, got '3'"),
        ({"shard": "h ..., h -> h ..., h"}, "'...' comes first"),
    ],
)
def test_what_does_not_fit_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse({**FIELDS, **fields})
    assert message in str(caught.value)


@pytest.mark.parametrize(("text", "printed"), [("b, -> b", "b, () -> b"), ("b,() -> ()", "b, () -> ()")])
def test_the_group_of_a_scalar_is_empty(text: str, printed: str) -> None:
    schema = Schema.parse("mylib::scale(Tensor x, Tensor factor) -> Tensor")
    assert str(Rules.parse({"out": "x", "shard": text}, schema).shard) == printed


def test_an_operator_without_tensors_has_no_groups_on_the_left() -> None:
    schema = Schema.parse("mylib::fill(int n) -> Tensor")
    rules = Rules.parse({"out": {"shape": "[n]", "dtype": "bool"}, "shard": "-> _"}, schema)
    assert rules.shard == Sharding((), (("_",),))
    assert str(rules.shard) == "-> _"


groups = st.lists(st.sampled_from(["b", "s", "_", "...", "()", ",", "->", "3", "elementwise", "x.shape"]), max_size=9)
texts = groups.map(" ".join) | st.text(max_size=20)


@given(st.sampled_from(list(FIELDS)), texts | st.integers() | st.floats() | st.booleans() | st.lists(texts, max_size=2))
def test_any_value_parses_or_is_a_rule_error(field: str, value: object) -> None:
    try:
        rules = parse({**FIELDS, field: value})
    except RuleError:
        return
    assert parse(rules.fields()) == rules


@given(st.dictionaries(st.sampled_from(["x", "weight", "x, weight", "shape", "dtype", ""]), texts))
def test_any_mapping_parses_or_is_a_rule_error(value: dict[str, str]) -> None:
    for field in ("out", "derivatives", "backward"):
        try:
            parse({**FIELDS, field: value})
        except RuleError:
            continue


@st.composite
def mistyped(draw: st.DrawFn, written: list[str]) -> str:
    """A good rule with a few characters lost and a few tokens from elsewhere in it."""
    text = draw(st.sampled_from(written))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        token = draw(
            st.sampled_from(["", " ", "x", "[", "]", "(", ")", ".", ",", ":", "-", "**", "is None", "grads", "1"])
        )
        text = text[:start] + token + text[start + draw(st.integers(0, 4)) :]
    return text


SIZES = ["x.shape[:-1] + [1]", "broadcast(x, weight)", "[1 if eps > 0.5 else x.numel, -x.ndim ** 2]", "[max(1, 2)]"]
FORMULAS = [
    "grad_y * rstd @ x.T",
    "where(x > 0, grad, 0) if eps == 1 else grads[1]",
    "sum(grad[..., None], axis=(0, 1))",
]


@given(mistyped(SIZES), mistyped(FORMULAS))
def test_a_mistyped_rule_parses_or_is_a_rule_error(size: str, formula: str) -> None:
    changes: list[dict[str, object]] = [{"out": ["x", {"shape": size}]}, {"derivatives": {"x": formula}}]
    for change in changes:
        try:
            rules = parse({**FIELDS, **change})
        except RuleError:
            continue
        assert parse(rules.fields()) == rules


def test_a_rule_is_one_row_that_everything_else_follows() -> None:
    names = [*RULES]
    assert [field.name for field in dataclasses.fields(Rules)] == names
    assert {*RuleFields.__annotations__} == {*names, "samples"}
    assert {*names} <= {field.name for field in OPERATOR.fields}
    assert {check for rule in RULES.values() for check in rule.checks} <= {*TABLE}


def test_the_page_of_rules_says_what_holds_a_kernel_to_each() -> None:
    page = (Path(__file__).parents[3] / "docs" / "rules.md").read_text()
    for rule in RULES.values():
        (row,) = (line for line in page.splitlines() if line.startswith(f"| `{rule.name}` |"))
        assert row.split("|")[-2].strip() == ", ".join(f"`{check}`" for check in rule.checks)
