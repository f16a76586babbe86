"""The grammar of rules: what parses, how it prints, and what an error points at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbridge.base.errors import Location, RuleError
from opbridge.waist.rules import Expr, parse_expression
from opbridge.waist.rules.parser import MAX_DEPTH
from opbridge.waist.rules.syntax import (
    BINARY_LEVEL,
    Attribute,
    Binary,
    Bool,
    BoolOp,
    Call,
    Compare,
    Dots,
    Float,
    IfElse,
    Index,
    Int,
    ListOf,
    Name,
    NoneLiteral,
    Slice,
    Str,
    Unary,
)

names = st.sampled_from(["x", "grad", "alpha", "_y1"])
leaves = (
    names.map(Name)
    | st.integers(0, 2**63 - 1).map(Int)
    | st.floats(0, allow_infinity=False, allow_nan=False).map(abs).map(Float)
    | st.booleans().map(Bool)
    | st.text(st.characters(codec="utf-8", exclude_characters="\n")).map(Str)
    | st.just(NoneLiteral())
)


def compound(parts: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    several = st.lists(parts, max_size=3).map(tuple)
    optional = st.none() | parts
    items = parts | st.builds(Slice, optional, optional, optional) | st.just(Dots())
    return (
        st.builds(Attribute, parts, names)
        | st.builds(Index, parts, st.lists(items, min_size=1, max_size=3).map(tuple))
        | st.builds(ListOf, several)
        | st.builds(Unary, st.sampled_from(["-", "not"]), parts)
        | st.builds(Binary, st.sampled_from(list(BINARY_LEVEL)), parts, parts)
        | st.builds(Compare, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), parts, parts)
        | st.builds(Compare, st.sampled_from(["is", "is not"]), parts, st.just(NoneLiteral()))
        | st.builds(BoolOp, st.sampled_from(["and", "or"]), parts, parts)
        | st.builds(IfElse, parts, parts, parts)
        | st.builds(
            Call,
            st.sampled_from(["f", "mylib::f", "aten::add.Tensor"]),
            several,
            st.dictionaries(names, parts, max_size=2).map(lambda given: tuple(given.items())),
        )
    )


@given(st.recursive(leaves, compound, max_leaves=20))
def test_what_prints_parses_back(tree: Expr) -> None:
    assert parse_expression(str(tree)) == tree


@pytest.mark.parametrize(
    "text",
    [
        "x.shape[:-1] + [n]",
        "grad * (1 - result) * result",
        "-x ** 2",
        "(-x) ** 2",
        "2 ** -n",
        "a - (b - c) - d",
        "(a if b else c) + 1",
        "a if b else c if d else e",
        "not (a and b) or c",
        "x[..., None, 1:, ::2]",
        "x[n: :abs(k)]",
        "aten::sum.dim_IntList(x, [0, 1], keepdim=True)",
        'mode == "say \\"mean\\""',
        "bias is not None",
        "(1).shape",
        "[]",
    ],
)
def test_canonical_texts_print_as_written(text: str) -> None:
    assert str(parse_expression(text)) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("((a+b))*c", "(a + b) * c"),
        ("(a*b)+c", "a * b + c"),
        ("sum(x,axis=(0,1),)", "sum(x, axis=[0, 1])"),
        ("(a,)", "[a]"),
        ("x[n::m]", "x[n: :m]"),
        ("'it'", '"it"'),
        ("1.", "1.0"),
        ("a\n  + b", "a + b"),
    ],
)
def test_other_spellings_print_canonically(text: str, canonical: str) -> None:
    assert str(parse_expression(text)) == canonical


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "expected a value, got the end"),
        ("x +", 4, "expected a value, got the end"),
        ("x y", 3, "expected the end of the rule, got 'y'"),
        ("f(x", 4, "expected ',' or ')', got the end"),
        ("x[]", 1, "an index is empty"),
        ("a < b < c", 7, "comparisons do not chain"),
        ("a is b", 6, "expected None after 'is', got 'b'"),
        ("a if b", 7, "expected 'else', got the end"),
        ("x.sum(1)", 6, "only a function's name can be called"),
        ("f(a=1, a=2)", 8, "a is given twice"),
        ("f(a=1, 2)", 8, "a positional argument follows a keyword"),
        ("1 + $", 5, "expected an expression, got '$'"),
        ("'abc", 1, "expected a string that ends"),
        ("9223372036854775808", 1, "the number does not fit in 64 bits"),
        ("1e999", 1, "1e999 is too large for a float"),
        ("a + not b", 5, "expected a value, got 'not'"),
        ("lambda: x", 7, "expected the end of the rule, got ':'"),
    ],
)
def test_errors_point_at_their_column(text: str, column: int, message: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse_expression(text)
    assert message in caught.value.message
    assert caught.value.where is not None
    assert caught.value.where.column == column


def test_an_error_stands_in_the_users_file() -> None:
    where = Location("ops.yaml", 7, 10, "    out: [x.shape[0], *]")
    with pytest.raises(RuleError) as caught:
        parse_expression("[x.shape[0], *]", where)
    assert str(caught.value) == (
        "ops.yaml:7:23: expected a value, got '*'\n      out: [x.shape[0], *]\n                        ^"
    )


def test_an_error_in_a_later_line_says_which() -> None:
    with pytest.raises(RuleError) as caught:
        parse_expression("a +\n  b $")
    assert caught.value.where is not None
    assert (caught.value.where.line, caught.value.where.column) == (2, 5)
    assert str(caught.value).startswith("rule: ")


@pytest.mark.parametrize("pattern", ["({})", "[{}]", "-{}", "f({})", "1 + ({})", "y if x else {}", "not {}", "x[{}]"])
def test_deep_rules_are_refused_not_crashed_on(pattern: str) -> None:
    text = "x"
    for _ in range(1000):
        text = pattern.format(text)
    with pytest.raises(RuleError, match="deeper"):
        parse_expression(text)


def test_a_chain_is_as_deep_as_it_is_long() -> None:
    parse_expression(" + ".join(["x"] * MAX_DEPTH))
    with pytest.raises(RuleError, match="deeper"):
        parse_expression(" + ".join(["x"] * 5000))


words = "x y is not and or if else None True ns::f( ns::f.g( é"
symbols = "1 2.5 1e9 . .. ... , : :: ( ) [ ] + - * ** / // % @ < <= == = != ' \" \\ \n \0"
fragments = st.sampled_from([*words.split(" "), *symbols.split(" ")])


@given(st.lists(fragments, max_size=30).map(" ".join) | st.lists(fragments).map("".join) | st.text())
def test_any_text_parses_or_is_a_rule_error(text: str) -> None:
    try:
        tree = parse_expression(text)
    except RuleError:
        return
    assert parse_expression(str(tree)) == tree


@pytest.mark.parametrize("text", ["x.dtype(1)", "x.sum(1)"])
def test_a_call_of_an_attribute_is_told_what_there_is(text: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse_expression(text)
    assert "abs(a)" in caught.value.hint
    assert "x.dtype without brackets" in caught.value.hint
