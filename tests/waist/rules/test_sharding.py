"""`shard`: what it says, how it prints, and that dividing along any of its names gives the operator's own result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbridge.base.errors import CallError, ManifestError, RuleError
from opbridge.waist.manifest import Manifest
from opbridge.waist.rules import Rules, Sharding
from opbridge.waist.rules.sharding import Layout, Tensor, check_parts, lay_out
from opbridge.waist.schema import Schema

NORM = Schema.parse("mylib::norm(Tensor x, Tensor? weight=None, *, float eps=1.0) -> (Tensor y, Tensor rstd)")
MATMUL = Schema.parse("mylib::matmul(Tensor x, Tensor y) -> Tensor")
ADD = Schema.parse("mylib::add(Tensor x, Tensor y) -> Tensor")
SCALE = Schema.parse("mylib::scale_(Tensor(a!) x, Tensor factor) -> Tensor(a!)")
JOIN = Schema.parse("mylib::join(Tensor[] xs) -> Tensor")


def sharding(text: str, schema: Schema) -> Any:
    out = [{"shape": "[1]", "dtype": "float32"}] * len(schema.new_outputs)
    return Rules.parse({"out": out or None, "shard": text}, schema).shard


def layout(text: str, schema: Schema, *shapes: tuple[int, ...], outputs: Sequence[tuple[int, ...]]) -> Layout:
    places = [place for place, argument in enumerate(schema.arguments) if argument.is_tensor]
    tensors = [Tensor(place, None, shape) for place, shape in zip(places, shapes, strict=False)]
    return lay_out(sharding(text, schema), schema, tensors, outputs)


def test_along_a_name_of_all_outputs_each_device_makes_its_part() -> None:
    found = layout("m k, k n -> m n", MATMUL, (2, 3), (3, 4), outputs=[(2, 4)])
    assert found.names == ("m", "n")
    assert found.inputs == (("m", None), (None, "n"))


def test_along_a_summed_name_each_device_makes_a_partial_sum() -> None:
    found = layout("m k, k n -> m n : sum k", MATMUL, (2, 3), (3, 4), outputs=[(2, 4)])
    assert found.reductions == {"k": "sum"}
    assert found.inputs == (("m", "k"), ("k", "n"))
    assert found.outputs == (("m", "n"),)


def test_a_whole_name_is_one_size_and_never_divided() -> None:
    found = layout("... h, h -> ... h, ... : whole h", NORM, (5, 4, 3), (3,), outputs=[(5, 4, 3), (5, 4)])
    assert found.names == ("...2", "...1")
    assert found.inputs == (("...2", "...1", None), (None,))


def test_a_name_that_one_output_lacks_is_not_divided_unless_that_one_is_reduced() -> None:
    shapes, outputs = [(5, 3), (3,)], [(5, 3), (3,)]
    assert layout("b h, h -> b h, h", NORM, *shapes, outputs=outputs).names == ("h",)
    assert layout("b h, h -> b h, h : sum b", NORM, *shapes, outputs=outputs).names == ("b", "h")
    assert layout("... h, h -> ... h, h : sum ...", NORM, *shapes, outputs=outputs).reductions == {"...1": "sum"}


def test_elementwise_pairs_dimensions_from_the_last_one() -> None:
    found = layout("elementwise", ADD, (5, 1, 3), (4, 1), outputs=[(5, 4, 3)])
    assert found.inputs == (("...3", None, "...1"), ("...2", None))
    assert found.outputs == (("...3", "...2", "...1"),)


def test_an_absent_optional_tensor_takes_no_part() -> None:
    found = layout("b h, h -> b h, b", NORM, (5, 3), outputs=[(5, 3), (5,)])
    assert found.names == ("b",)


def test_the_tensors_of_a_list_share_a_group() -> None:
    tensors = [Tensor(0, place, (4, 3)) for place in range(3)]
    rule = sharding("b _ -> b _", JOIN)
    assert lay_out(rule, JOIN, tensors, [(4, 9)]).inputs == (("b", None),) * 3


def test_what_is_written_to_cannot_become_partial() -> None:
    assert layout("b, h -> b", SCALE, (4,), (3,), outputs=[]).names == ("b",)


@pytest.mark.parametrize(
    ("text", "schema", "message"),
    [
        ("m k, k n -> m n : sun k", MATMUL, "did you mean 'sum'?"),
        ("m k, k n -> m n : sum", MATMUL, "expected sum, max, min, whole and names, got 'sum'"),
        ("m k, k n -> m n : sum q", MATMUL, "mylib::matmul: no input has the dimension 'q'"),
        ("m k, k n -> m n : sum m", MATMUL, "there is nothing to sum"),
        ("m k, k n -> m n : sum k, whole k", MATMUL, "'k' appears in two clauses"),
        ("m k -> m", MATMUL, "mylib::matmul: expected 2 groups of dimensions, for x, y; got 1"),
        ("m m, k -> m", MATMUL, "mylib::matmul: 'x': 'm' appears twice"),
        ("m 3, k -> m", MATMUL, "mylib::matmul: 'x': expected a dimension's name, got '3'"),
        ("elementwise : sum k", ADD, "takes no clauses"),
        ("b, b -> _", SCALE, "an output is the argument 'x' itself"),
    ],
)
def test_a_rule_that_does_not_fit_names_operator_and_argument(text: str, schema: Schema, message: str) -> None:
    with pytest.raises(RuleError) as caught:
        sharding(text, schema)
    assert message in str(caught.value)


def test_the_error_has_its_place_in_the_manifest(tmp_path: Path) -> None:
    text = (
        "namespace: mylib\nops:\n  - func: total(Tensor x) -> Tensor\n    out: {shape: '[]'}\n"
        '    kernels: {cpu: total.cpp}\n    shard: "i -> () : sun i"\n'
    )
    with pytest.raises(ManifestError) as caught:
        Manifest.parse(text, root=tmp_path)
    where = caught.value.where
    assert where is not None
    assert (where.line, where.source[where.column - 1 :].partition(" ")[0]) == (6, "sun")


@pytest.mark.parametrize(
    ("text", "schema", "shapes", "outputs", "message"),
    [
        (
            "m k, k n -> m n",
            MATMUL,
            [(2, 3), (3,)],
            [(2, 4)],
            "argument 'y' has 1 dimensions, [3], where its shard rule names 'k n'",
        ),
        ("m k, k n -> m n", MATMUL, [(2, 3), (5, 4)], [(2, 4)], "argument 'y' has size 5 where argument 'x' has 3"),
        ("m k, k n -> m n", MATMUL, [(2, 3), (3, 4)], [(2, 1)], "output 0 has size 1 where argument 'y' has 4"),
    ],
)
def test_a_call_that_does_not_fit_says_which_tensor(
    text: str, schema: Schema, shapes: list[tuple[int, ...]], outputs: list[tuple[int, ...]], message: str
) -> None:
    with pytest.raises(CallError) as caught:
        layout(text, schema, *shapes, outputs=outputs)
    assert message in str(caught.value)


def test_parts_of_outputs_have_the_shapes_that_out_says() -> None:
    found = layout("b h, b h -> b h", ADD, (4, 6), (4, 6), outputs=[(4, 6)])
    check_parts("mylib::add", found, [(4, 6)] * 2, [(4, 6)], lambda parts: [parts[0]])
    with pytest.raises(RuleError, match="divides output 0 along 'h', so that of a part of size 3 it has shape"):
        check_parts("mylib::add", found, [(4, 6)] * 2, [(4, 6)], lambda parts: [(parts[0][0], 6)])


NAMES = ("a", "b", "c", "d")


@st.composite
def rules(draw: st.DrawFn) -> Sharding:
    """Any rule of two inputs and two outputs that parses."""
    group = st.lists(st.sampled_from(NAMES), unique=True, max_size=3).map(tuple)
    inputs = (draw(group), draw(group))
    known = [name for name in NAMES if name in (*inputs[0], *inputs[1])]
    subset = st.lists(st.sampled_from(known), unique=True) if known else st.just([])
    outputs = (tuple(draw(subset)), tuple(draw(subset)))
    free = [name for name in known if not all(name in one for one in outputs)]
    word = draw(st.sampled_from(["sum", "max", "min"]))
    reduced = [name for name in free if draw(st.booleans())]
    whole = [name for name in known if name not in reduced and draw(st.integers(0, 3)) == 0]
    texts = [" ".join((head, *names)) for head, names in ((word, reduced), ("whole", whole)) if names]
    text = " -> ".join(", ".join(" ".join(one) or "()" for one in side) for side in (inputs, outputs))
    parsed = sharding(f"{text} : {', '.join(texts)}" if texts else text, PAIR)
    assert isinstance(parsed, Sharding)
    return parsed


PAIR = Schema.parse("mylib::pair(Tensor x, Tensor y) -> (Tensor, Tensor)")


@given(rules())
def test_what_prints_parses_to_the_same_rule(rule: Sharding) -> None:
    assert sharding(str(rule), PAIR) == rule
    assert str(sharding(str(rule), PAIR)) == str(rule)


REDUCE: dict[str, Callable[..., Any]] = {"sum": np.sum, "max": np.max, "min": np.min}
COMBINE: dict[str, Callable[..., Any]] = {"sum": np.add, "max": np.maximum, "min": np.minimum}


def reference(rule: Sharding, inputs: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """An operator of which a rule is true: each output is made of products of all elements that share its names.

    Along undivided names it mixes elements, so that whoever divides there gets something else.
    """
    space: dict[str, int] = {}
    for group, x in zip(rule.inputs, inputs, strict=True):
        space |= dict(zip(group, x.shape, strict=True))
    every = list(space)
    product = np.ones(tuple(space.values()))
    for group, x in zip(rule.inputs, inputs, strict=True):
        order = sorted(range(len(group)), key=lambda place: every.index(group[place]))
        shape = [space[name] if name in group else 1 for name in every]
        product = product * np.transpose(x, order).reshape(shape)
    outputs = []
    for group in rule.outputs:
        value, left = product, list(every)
        for name in every:
            if name in rule.whole:
                value = np.cumsum(value, axis=left.index(name))
        for name in [*(n for n in every if n not in rule.reductions), *rule.reductions]:
            if name in group or name not in left:
                continue
            value = REDUCE.get(rule.reductions.get(name, ""), np.median)(value, axis=left.index(name))
            left.remove(name)
        outputs.append(np.transpose(value, [left.index(name) for name in group]))
    return outputs


@given(rules(), st.integers(0, 2**32 - 1), st.integers(2, 3))
def test_running_on_parts_and_joining_them_is_running_on_the_whole(rule: Sharding, seed: int, parts: int) -> None:
    random = np.random.default_rng(seed)
    sizes = {name: int(random.integers(2, 6)) for name in NAMES}
    inputs = [random.normal(size=[sizes[name] for name in group]) for group in rule.inputs]
    whole = reference(rule, inputs)
    tensors = [Tensor(place, None, x.shape) for place, x in enumerate(inputs)]
    found = lay_out(rule, PAIR, tensors, [output.shape for output in whole])
    for name in found.names:
        bounds = np.array_split(np.arange(sizes[name]), min(parts, sizes[name]))
        shards = [
            reference(
                rule,
                [
                    np.take(x, indices, names.index(name)) if name in names else x
                    for names, x in zip(found.inputs, inputs, strict=True)
                ],
            )
            for indices in bounds
        ]
        for place, names in enumerate(found.outputs):
            made = [shard[place] for shard in shards]
            if name in names:
                joined = np.concatenate(made, axis=names.index(name))
            else:
                joined = reduce(COMBINE[found.reductions[name]], made)
            np.testing.assert_allclose(joined, whole[place], rtol=1e-9, atol=1e-9)
