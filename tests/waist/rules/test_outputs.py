"""`out`: what it takes, what it defaults to and what it refuses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from opbridge.base.errors import Location, RuleError
from opbridge.waist.rules import Like, ShapeDtype, evaluate_out, evaluate_size, parse_expression, parse_out
from opbridge.waist.rules.value_kinds import ManifestPlace
from opbridge.waist.schema import Schema

MATMUL = Schema.parse("mylib::matmul(Tensor x, Tensor y, *, ScalarType? dtype=None) -> Tensor")
SPLIT = Schema.parse("mylib::split(Tensor x, int n) -> (Tensor low, Tensor high)")


@dataclass(frozen=True)
class Symbol:
    """A size known by name alone, as a tracer has it: it adds and multiplies, and has no value to look at."""

    text: str

    def __add__(self, other: object) -> Symbol:
        return Symbol(f"({self.text}+{other})")

    def __mul__(self, other: object) -> Symbol:
        return Symbol(f"({self.text}*{other})")

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        raise AssertionError("a rule looked at a symbol")


@dataclass(frozen=True)
class SymbolicTensor:
    shape: tuple[Symbol, ...]
    dtype: str = "float32"


def test_like_an_argument() -> None:
    assert parse_out("x", MATMUL) == (Like("x"),)


def test_broadcast_promotes_the_tensors_it_broadcasts() -> None:
    (rule,) = parse_out("broadcast(x, y, [1])", MATMUL)
    assert rule == ShapeDtype(parse_expression("broadcast(x, y, [1])"), parse_expression("promote(x, y)"))


def test_dtype_defaults_to_the_promotion_of_all_tensors() -> None:
    assert str(parse_out({"shape": "[1]"}, MATMUL)[0].dtype) == "promote(x, y)"
    assert str(parse_out([{"shape": "[n]"}, "x"], SPLIT)[0].dtype) == "x.dtype"


def test_a_shape_may_come_as_a_list_from_yaml() -> None:
    listed = parse_out({"shape": ["x.shape[0]", "y.shape[1]", 1]}, MATMUL)
    assert listed == parse_out({"shape": "[x.shape[0], y.shape[1], 1]"}, MATMUL)


def test_one_rule_for_each_output() -> None:
    rules = parse_out([{"shape": "[n]"}, {"shape": "[x.numel - n]", "dtype": "int64"}], SPLIT)
    arguments = {"x": np.zeros((3, 4), "float16"), "n": 5}
    assert evaluate_out(rules, SPLIT, arguments) == [((5,), "float16"), ((7,), "int64")]


def test_a_dtype_attribute_is_named_by_the_framework() -> None:
    rules = parse_out({"shape": "x.shape", "dtype": "dtype if dtype is not None else x.dtype"}, MATMUL)
    arrays = {"x": np.ones(3, "float32"), "y": np.ones(3, "float32")}
    named = lambda dtype: np.dtype(dtype).name  # noqa: E731
    assert evaluate_out(rules, MATMUL, {**arrays, "dtype": np.int8}, named) == [((3,), "int8")]
    assert evaluate_out(rules, MATMUL, {**arrays, "dtype": None}, named) == [((3,), "float32")]


def test_symbolic_sizes_stay_symbolic() -> None:
    rules = parse_out(
        {"shape": "[x.shape[0] * x.shape[1] + n] + x.shape[1:]"}, Schema.parse("f(Tensor x, int n) -> Tensor")
    )
    schema = Schema.parse("f(Tensor x, int n) -> Tensor")
    arguments = {"x": SymbolicTensor((Symbol("a"), Symbol("b"))), "n": 3}
    assert evaluate_out(rules, schema, arguments) == [((Symbol("((a*b)+3)"), Symbol("b")), "float32")]


def test_flops_is_a_number() -> None:
    expr = parse_expression("2 * x.numel * y.shape[-1]")
    arguments = {"x": np.zeros((3, 4)), "y": np.zeros((4, 5)), "dtype": None}
    assert evaluate_size(expr, MATMUL, arguments) == 120


def test_no_rule_only_where_there_is_no_new_output() -> None:
    in_place = Schema.parse("mylib::relu_(Tensor(a!) x) -> Tensor(a!)")
    assert parse_out(None, in_place) == ()
    with pytest.raises(RuleError, match="needs an out rule"):
        parse_out(None, MATMUL)
    with pytest.raises(RuleError, match="no new output"):
        parse_out("x", in_place)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("z", "'z' is not an argument"),
        ("dtype", "expected a tensor, got a dtype"),
        ("[1, 2]", "expected a tensor"),
        ("x + y", "expected a tensor"),
        ({"shape": "x"}, "write .shape"),
        ({"shape": "[x.shape[0] / 2]"}, "// divides"),
        ({"shape": "[x.shap[0]]"}, "did you mean 'shape'?"),
        ({"shape": "[x[0]]"}, "sees no values"),
        ({"shape": "broadcst(x, y)"}, "did you mean 'broadcast'?"),
        ({"shape": "x.shape[0, 1]"}, "one index"),
        ({"shape": "x.shape @ y.shape"}, "for arrays"),
        ({"shape": "[1 if x.ndim else 2]"}, "expected a bool"),
        ({"shape": "[1 if x is None else 2]"}, "only an optional argument"),
        ({"shape": "[1 if dtype == None else 2]"}, "write x is None"),
        ({"shape": "[1 if x.dtype < y.dtype else 2]"}, "do not compare"),
        ({"shape": "[abs(1, 2)]"}, "takes 1 arguments, got 2"),
        ({"shape": "[min(1)]"}, "takes 2 or more"),
        ({"shape": "x.shape", "dtype": "float31"}, "did you mean 'float32'?"),
        ({"shape": "x.shape", "dtype": "x"}, "write .dtype"),
        ({"shape": "x.shape", "dtyp": "x"}, "did you mean 'dtype'?"),
        ({"dtype": "float32"}, "needs a shape"),
        (["x", "y"], "expected 1 rule, one for each new output, got 2"),
        (True, "expected a rule as text"),
    ],
)
def test_what_does_not_fit_is_refused(out: object, message: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse_out(out, MATMUL)
    assert message in str(caught.value)


def test_missing_rules_are_named() -> None:
    with pytest.raises(RuleError, match="expected 2 rules, one for each new output, got 1"):
        parse_out("x", SPLIT)


def test_outputs_no_rule_can_describe() -> None:
    with pytest.raises(RuleError, match=r"returns Tensor\[\]"):
        parse_out("x", Schema.parse("f(Tensor x) -> Tensor[]"))


def test_a_dtype_is_asked_for_where_no_tensor_has_one() -> None:
    with pytest.raises(RuleError, match="needs a dtype"):
        parse_out({"shape": "[n]"}, Schema.parse("f(int n) -> Tensor"))


def test_a_nested_error_stands_where_its_value_does() -> None:
    item = Location("ops.yaml", 4, 20, " " * 19 + "m, 1")

    place = ManifestPlace(lambda path: item if path == (1, "shape", 0) else None)
    with pytest.raises(RuleError, match=r"ops\.yaml:4:20: 'm' is not an argument"):
        parse_out(["x", {"shape": ["m", 1]}], SPLIT, place)


def test_one_operand_lowers_once() -> None:
    # Lowering an operand twice at every level would take 2 ** 60 steps here.
    (rule,) = parse_out({"shape": "[" + " + ".join(["n"] * 60) + "]"}, Schema.parse("f(Tensor x, int n) -> Tensor"))
    assert isinstance(rule, ShapeDtype)
