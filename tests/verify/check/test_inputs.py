"""Inputs made from samples, rules and schemas."""

from __future__ import annotations

import pytest

from opbridge.verify.check.inputs import Case, case, forms, needs_samples, samples_of
from opbridge.waist.manifest import OpSpec
from opbridge.waist.manifest.samples import TensorSample


def spec(schema: str, out: object, **rules: object) -> OpSpec:
    return OpSpec.create(f"t::{schema}", out=out, kernels={"cpu": "k.cpp"}, **rules)  # type: ignore[arg-type]


def shapes(spec: OpSpec, variation: str = "plain") -> dict[str, object]:
    """Of the first form whose shapes the `out` rule takes."""
    dtypes = {argument.name: "float32" for argument in spec.schema.tensor_arguments}
    found = next(made for form in forms(spec) if (made := case(spec, form, variation, dtypes)))
    return {name: value.shape for name, value in found.arguments.items() if isinstance(value, TensorSample)}


@pytest.mark.parametrize(
    ("schema", "out", "rules", "expected"),
    [
        ("f(Tensor x, Tensor y) -> Tensor", "x", {"batch": "elementwise"}, {"x": (3, 4), "y": (3, 4)}),
        ("f(Tensor x, Tensor w) -> Tensor", "x", {"batch": "... h, h -> ... h"}, {"x": (3, 4), "w": (4,)}),
        ("f(Tensor x, Tensor y) -> Tensor", "x", {"shard": "m k, k n -> m n"}, {"x": (3, 4), "y": (4, 5)}),
        ("f(Tensor x, Tensor y) -> Tensor", "x", {"shard": "_ k, _ k -> k _"}, {"x": (3, 4), "y": (5, 4)}),
        ("f(Tensor x, Tensor y) -> Tensor", {"shape": "[x.shape[0], y.shape[1]]"}, {}, {"x": (3, 4), "y": (4, 5)}),
        ("f(Tensor x) -> Tensor", {"shape": "[x.shape[0], x.shape[2]]"}, {}, {"x": (3, 4, 5)}),
    ],
)
def test_shapes_follow_the_rules(schema: str, out: object, rules: dict[str, str], expected: dict[str, object]) -> None:
    assert shapes(spec(schema, out, **rules)) == expected


def test_variations_keep_equal_dimensions_equal() -> None:
    product = spec("f(Tensor x, Tensor y) -> Tensor", "x", shard="m k, k n -> m n")
    for variation in ("one element", "no elements", "odd", "large"):
        found = shapes(product, variation)
        assert found["x"][1] == found["y"][0]  # type: ignore[index]
    assert 0 in shapes(product, "no elements")["x"]  # type: ignore[operator]


def test_optional_tensors_lists_and_attributes_are_filled() -> None:
    made = spec("f(Tensor x, Tensor? y, Tensor[] zs, int n, float a=2.0) -> Tensor", "x", batch="elementwise")
    dtypes = dict.fromkeys(("x", "y", "zs"), "float64")
    form = next(iter(forms(made)))
    tensor = TensorSample("float64", (3, 4))
    assert case(made, form, "plain", dtypes) == Case({"x": tensor, "y": tensor, "zs": (tensor, tensor), "n": 1})
    absent = case(made, form, "plain", dtypes, absent=True)
    assert absent is not None
    assert absent.arguments["y"] is None


def test_a_string_without_a_default_is_asked_for() -> None:
    made = spec("f(Tensor x, str mode) -> Tensor", "x")
    assert all(case(made, form, "plain", {"x": "float32"}) is None for form in forms(made))
    assert needs_samples(made).endswith("`samples: [{x: {shape: [2, 3]}, mode: ...}]`")


def test_the_samples_that_are_asked_for_have_the_sizes_that_the_rules_name() -> None:
    schema = "f(Tensor x, Tensor[] ws, Tensor b, str mode) -> Tensor"
    for rule in ({"batch": "... h, h k, k -> ... k"}, {"shard": "n h, h k, k -> n k"}):
        shown = "{x: {shape: [2, 3]}, ws: [{shape: [3, 4]}], b: {shape: [4]}, mode: ...}"
        assert needs_samples(spec(schema, "x", **rule)).endswith(f"`samples: [{shown}]`")


def test_samples_come_first_and_print_as_a_reader_writes_them() -> None:
    made = spec("f(Tensor x, float a=2.0) -> Tensor", "x", samples=[{"a": 0.5, "x": {"shape": [2, 3]}}])
    assert [str(sample) for sample in samples_of(made)] == ["x=float32[2, 3], a=0.5"]


def test_a_range_leaves_what_a_sample_says() -> None:
    free, said = TensorSample("float32", (2,)), TensorSample("float32", (2,), low=5.0, high=6.0)
    changed = Case({"x": free, "y": said}).with_range((0.1, 0.9))
    assert changed.arguments == {"x": TensorSample("float32", (2,), low=0.1, high=0.9), "y": said}
