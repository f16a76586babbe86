"""The check `shard`: results on parts, combined as the rule says, equal the result on the whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

import numpy as np

from opbridge.base.errors import OpbridgeError
from opbridge.verify.check.arrays import Argument, Array, mismatch
from opbridge.verify.check.inputs import Case
from opbridge.verify.check.operator_under_test import OperatorUnderTest
from opbridge.verify.check.outcomes import Failure, Skip, counted, first_line
from opbridge.verify.check.result_checks import ordinary
from opbridge.waist.rules.sharding import Layout, Names, Sharding, Tensor, base_name, lay_out

_PARTS = 2
_REDUCTIONS: Mapping[str, np.ufunc] = {"sum": np.add, "max": np.maximum, "min": np.minimum}


def shard(subject: OperatorUnderTest) -> str:
    """Divide the inputs along each divisible dimension, and compare the combined results with the whole."""
    seen: dict[str, None] = {}
    cases = 0
    for case in ordinary(subject):
        given = subject.arguments(case)
        whole = subject.run(given)
        tensors = list(_tensors(subject, given))
        layout = _layout(subject, tensors, whole)
        for name in _divisible(layout):
            _check_along(name, subject, case, tensors, layout, whole)
            seen[base_name(name)] = None
        cases += 1
    if not seen:
        raise Skip("its rule keeps every dimension of these inputs whole")
    return f"in {_PARTS} parts along {', '.join(seen)}, on {counted(cases, 'input')}"


def has_shard_rule(subject: OperatorUnderTest) -> bool:
    """Return whether the operator has a `shard` rule and returns no lists."""
    lists = any(output.type.is_list for output in subject.schema.returns)
    return subject.spec.rules.shard is not None and not lists


def _check_along(
    name: str, subject: OperatorUnderTest, case: Case, tensors: Sequence[Tensor], layout: Layout, whole: Sequence[Array]
) -> None:
    place = next(place for place, names in enumerate(layout.inputs) if name in names)
    argument = subject.schema.arguments[tensors[place].argument].name
    where = f"divided along '{base_name(name)}' (dimension {layout.inputs[place].index(name)} of {argument})"
    advice = f"correct `shard` of its declaration: {_correction(subject, name)}"
    cuts = {(tensor.argument, tensor.item): names for tensor, names in zip(tensors, layout.inputs, strict=True)}
    made = []
    for part in range(_PARTS):
        # Make the arguments again, since the operator may have written to them.
        given = _part(subject, subject.arguments(case), cuts, name, part)
        try:
            made.append(subject.run(given))
        except OpbridgeError as error:
            raise Failure(f"{where} it refuses a part: {first_line(error)}, for {case}; {advice}") from error
    names = _names_of_outputs(subject, tensors, layout)
    outputs = zip(names, zip(*made, strict=True), strict=True)
    try:
        joined = [_joined(parts, own, name, layout) for own, parts in outputs]
    except ValueError as error:  # raised by NumPy for mismatched shapes
        raise Failure(f"{where} it gives parts that do not fit together: {error}, for {case}; {advice}") from error
    wrong = mismatch(joined, whole)
    if wrong:
        raise Failure(f"{where} it {wrong}, for {case}; {advice}")


def _divisible(layout: Layout) -> list[str]:
    given = {name for names in layout.inputs for name in names}
    return [name for name, size in layout.sizes.items() if size >= _PARTS and name in given]


def _correction(subject: OperatorUnderTest, name: str) -> str:
    if isinstance(subject.spec.rules.shard, Sharding):
        return f"': whole {base_name(name)}' says that it is never divided"
    return "it is not elementwise; a pattern such as 'b _ -> b _' says which dimensions may be divided"


def _tensors(subject: OperatorUnderTest, given: Mapping[str, Argument]) -> Iterator[Tensor]:
    for place, argument in enumerate(subject.schema.arguments):
        value = given.get(argument.name)
        if not argument.is_tensor or value is None:
            continue
        if isinstance(value, Array):
            yield Tensor(place, None, value.shape)
        else:
            for item, one in enumerate(value):
                if one is not None:
                    yield Tensor(place, item, one.shape)


def _layout(subject: OperatorUnderTest, tensors: Sequence[Tensor], whole: Sequence[Array]) -> Layout:
    rule = subject.spec.rules.shard
    assert rule is not None, "there is no row without one"
    # The results of an operator that returns nothing are its mutable arguments, not new outputs.
    new = [made.shape for made, output in zip(whole, subject.schema.returns, strict=False) if output.alias is None]
    return lay_out(rule, subject.schema, tensors, new)


def _part(
    subject: OperatorUnderTest,
    given: Mapping[str, Argument],
    cuts: Mapping[tuple[int, int | None], Names],
    name: str,
    part: int,
) -> dict[str, Argument]:
    def cut(place: int, item: int | None, value: Argument) -> Argument:
        names = cuts.get((place, item), ())
        if name not in names:
            return value
        return Array(np.array_split(value.values, _PARTS, names.index(name))[part], value.dtype)

    places = {argument.name: place for place, argument in enumerate(subject.schema.arguments)}
    return {
        argument: tuple(cut(places[argument], item, one) for item, one in enumerate(value))
        if isinstance(value, tuple)
        else cut(places[argument], None, value)
        for argument, value in given.items()
    }


def _names_of_outputs(subject: OperatorUnderTest, tensors: Sequence[Tensor], layout: Layout) -> list[Names]:
    schema = subject.schema
    given = {
        schema.arguments[tensor.argument].name: names for tensor, names in zip(tensors, layout.inputs, strict=True)
    }
    if not schema.returns:
        return [given[argument.name] for argument in schema.mutable_arguments]
    new = iter(layout.outputs)
    aliased = (schema.aliased_argument(output) for output in schema.returns)
    return [next(new) if argument is None else given[argument.name] for argument in aliased]


def _joined(parts: Sequence[Array], own: Names, name: str, layout: Layout) -> Array:
    """Return an output combined from the parts: concatenated along the dimension, or reduced if the output lacks it."""
    values, dtype = [part.values for part in parts], parts[0].dtype
    if name in own:
        return Array(np.concatenate(values, own.index(name)), dtype)
    return Array.of(reduce(_REDUCTIONS[layout.reductions[name]], values), dtype)
