"""Inputs for an operator: its samples, or cases made from its schema and its rules.

Shapes come from the rules that name dimensions (`shard`, `batch`). Without such a rule, common shapes are
tried; the caller finds out which ones the operator accepts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from opbridge.base.errors import RuleError
from opbridge.waist.manifest import OpSpec
from opbridge.waist.manifest.samples import Sample, TensorSample, Value
from opbridge.waist.rules import Dimensions, FromKernel, ShapeDtype, evaluate_out
from opbridge.waist.rules.dimensions import ANONYMOUS, DOTS
from opbridge.waist.schema import Argument, ListType, OptionalType, Type

Form = Mapping[str, tuple[str, ...]]
"""The names of the dimensions of each tensor argument."""

SIZES: Mapping[str, tuple[int, ...]] = {
    "plain": (3, 4, 5, 6, 2),
    "odd": (7, 13, 11, 3, 5),
    "one element": (1, 1, 1, 1, 1),
    "no elements": (0, 4, 5, 6, 2),
    "large": (1031, 257, 65, 3, 2),
}
"""The sizes of a form's dimensions in each variation, in the order in which the dimensions first appear."""


PLAIN: tuple[tuple[int, ...], ...] = (SIZES["plain"], (4, 6, 10, 14, 22), (8, 24, 40, 56, 72))
"""Sizes of the first calls, tried in this order: some operators take even numbers alone, some multiples of 8.

None is the half or the double of another, which an operator that halves an axis would take for the same dimension.
"""
_HALF = "half of "
"""Before the name of a dimension: one that is half as long."""


def letters_of(form: Form) -> tuple[str, ...]:
    """Return the names of all dimensions in order of first appearance, without those computed from others."""
    letters = (letter for dimensions in form.values() for letter in dimensions)
    return tuple(dict.fromkeys(letter for letter in letters if not letter.startswith(_HALF)))


def sizes_for(form: Form, elements: int) -> tuple[int, ...]:
    """Return odd, different sizes for a form's dimensions; a tensor with all of them has about `elements` elements."""
    letters = letters_of(form)
    side = int(elements ** (1 / max(len(letters), 1))) | 1
    return tuple(side + 2 * place for place in range(len(letters)))


def near(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the sizes, then nearby ones for operators that refuse them: one of them even, all even, multiples of 8."""
    seen = [tuple(sizes)]
    yield seen[0]
    last_first = reversed(range(len(sizes)))
    one_even = (
        tuple(size + size % 2 if own == place else size for own, size in enumerate(sizes)) for place in last_first
    )
    for found in (*one_even, *(tuple(-(-size // step) * step for size in sizes) for step in (2, 8))):
        if found not in seen:
            seen.append(found)
            yield found


RANGES: tuple[tuple[float, float] | None, ...] = (None, (0.1, 0.9), (1.1, 3.0))
"""The ranges of random floats, tried in order until results are finite; None: both signs, away from zero."""

_LIST_LENGTH = 2


@dataclass(frozen=True)
class Case:
    """One set of arguments, with tensors described but not created."""

    arguments: Mapping[str, Value]
    what: str = ""
    """The special property of the case."""
    origin: Case | None = None
    """The call of another operator that gives these arguments, where this one computes its gradients."""

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={_shown(value)}" for name, value in self.arguments.items())
        return f"{self.what}: {inside}" if self.what else inside

    def with_range(self, low_high: tuple[float, float] | None) -> Case:
        """Return the case with this range for the float tensors that do not specify their values."""
        if low_high is None:
            return self
        low, high = low_high

        def ranged(tensor: TensorSample) -> TensorSample:
            free = tensor.data is None and tensor.fill is None and tensor.low is None and tensor.high is None
            return replace(tensor, low=low, high=high) if free and "float" in tensor.dtype else tensor

        return replace(
            self.mapped(lambda _, tensor: ranged(tensor)), origin=self.origin and self.origin.with_range(low_high)
        )

    def with_dtype(self, dtype: str, chooses: Callable[[str, str], bool]) -> Case:
        """Return the case with another type for each tensor for which `chooses(argument, type)` is true."""
        return self.mapped(lambda name, item: replace(item, dtype=dtype) if chooses(name, item.dtype) else item)

    def mapped(self, function: Callable[[str, TensorSample], TensorSample]) -> Case:
        """Return the case with each tensor replaced by `function(argument, tensor)`."""

        def change(name: str, value: Value) -> Value:
            if isinstance(value, TensorSample):
                return function(name, value)
            return tuple(change(name, item) for item in value) if isinstance(value, tuple) else value

        return replace(self, arguments={name: change(name, value) for name, value in self.arguments.items()})


def samples_of(spec: OpSpec) -> list[Case]:
    """Return the samples in an operator's declaration as cases."""
    return [_with_defaults(spec, sample) for sample in spec.samples]


def forms(spec: OpSpec) -> Iterator[Form]:
    """Yield the dimensions that the tensors may have, the likeliest first."""
    names = [argument.name for argument in spec.schema.tensor_arguments]
    declared = _declared_form(spec, names)
    if declared is not None:
        yield declared
        return
    guesses = [
        _form(names, ("a", "b")),
        _form(names, ("a",)),
        _form(names, ("a", "b"), rest=("b",)),
        _form(names, ("a", "b"), rest=("a",)),
        _form(names, ("a", "b"), rest=("a", f"{_HALF}b")),
        _form(names, ("a", "b", "c")),
        _form(names, ("a", "b", "c", "d")),
    ]
    if len(names) > 1:
        products = [
            {**_form(names, ("c",)), names[0]: ("a", "b"), names[1]: ("b", "c")},
            {**_form(names, ("c",)), names[0]: ("a", "b"), names[1]: ("c", "b")},
            {**_form(names, ("b",)), names[0]: ("e", "a", "c", "d"), names[1]: ("b", "a", "e", "e")},
        ]
        # A rule that uses the sizes of several tensors is rarely that of an elementwise operator.
        guesses = [*products, *guesses] if _mixes_sizes(spec, names) else [*guesses, *products]
    yield from guesses


def says_how_sizes_vary(spec: OpSpec) -> bool:
    """Return whether the operator's rules state how sizes may vary."""
    rules = (spec.rules.shard, spec.rules.batch)
    return any(isinstance(rule, Dimensions) or rule == "elementwise" for rule in rules)


def is_elementwise(form: Form) -> bool:
    """Return whether all tensors have the same dimensions."""
    return len(set(form.values())) == 1


def case(
    spec: OpSpec,
    form: Form,
    variation: str,
    dtypes: Mapping[str, str],
    *,
    absent: bool = False,
    sizes: Iterable[int] | None = None,
) -> Case | None:
    """Return the arguments of a form in one variation; None if the `out` rule or an attribute's type forbids it.

    Args:
        absent: Whether to leave out optional tensors.
        sizes: The sizes for a variation that is not in `SIZES`.
    """
    given = dict(zip(letters_of(form), SIZES.get(variation, ()) if sizes is None else sizes, strict=False))
    given |= {f"{_HALF}{letter}": size // 2 for letter, size in given.items()}
    arguments: dict[str, Value] = {}
    for argument in spec.schema.arguments:
        if argument.is_tensor:
            dimensions = () if variation == "no dimensions" else form[argument.name]
            tensor = TensorSample(dtypes[argument.name], tuple(given.get(letter, 2) for letter in dimensions))
            arguments[argument.name] = _structured(argument, tensor, absent)
        elif argument.default is None:
            value = _ATTRIBUTES.get(argument.type.base)
            if argument.type.is_optional:
                continue_with: Value = None
            elif value is None:
                return None
            else:
                continue_with = (value,) * _length_of(argument.type) if argument.type.is_list else value
            arguments[argument.name] = continue_with
    made = Case(arguments, "" if variation == "plain" else variation)
    return made if satisfies_rule(spec, made) else None


def _length_of(type: Type) -> int:
    """Return how many values a list gets: the number in `int[1]`, or two."""
    inside = type.elem if isinstance(type, OptionalType) else type
    return (inside.size if isinstance(inside, ListType) else None) or _LIST_LENGTH


def satisfies_rule(spec: OpSpec, case: Case) -> bool:
    """Return whether the operator's `out` rule accepts the case."""
    rules = spec.rules.out
    if any(isinstance(rule, FromKernel) for rule in rules):
        return True
    try:
        evaluate_out(rules, spec.schema, all_arguments(spec, case))
    except (RuleError, IndexError, TypeError):
        return False
    return True


def all_arguments(spec: OpSpec, case: Case) -> dict[str, object]:
    """Return the case's arguments together with the defaults, as a rule sees a call."""
    defaults = {item.name: item.default.value for item in spec.schema.arguments if item.default is not None}
    return {**defaults, **case.arguments}


def has_optional_tensors(spec: OpSpec) -> bool:
    """Return whether the operator takes optional tensors."""
    return any(isinstance(argument.type, OptionalType) for argument in spec.schema.tensor_arguments)


def needs_samples(spec: OpSpec) -> str:
    """Return a hint about what to add to a declaration for which no inputs were found."""
    needed = [argument for argument in spec.schema.arguments if argument.default is None]
    form = next(forms(spec), {})
    sizes: dict[str, int] = {}
    for letter in (letter for dimensions in form.values() for letter in dimensions):
        sizes.setdefault(letter, 2 + len(sizes))

    def example(argument: Argument) -> str:
        if not argument.is_tensor:
            return "..."
        tensor = f"{{shape: [{', '.join(str(sizes[letter]) for letter in form[argument.name])}]}}"
        return f"[{tensor}]" if isinstance(argument.type, ListType) else tensor

    shown = ", ".join(f"{item.name}: {example(item)}" for item in needed)
    return f"give inputs in its declaration: `samples: [{{{shown}}}]`"


_ATTRIBUTES: Mapping[str, Value] = {
    "int": 1,
    "SymInt": 1,
    "float": 0.5,
    "bool": True,
    "Scalar": 1.5,
    "ScalarType": "float32",
}
"""Values for attributes without a default; a string cannot be guessed."""


def _form(
    names: Sequence[str], dimensions: tuple[str, ...], rest: tuple[str, ...] | None = None
) -> dict[str, tuple[str, ...]]:
    form = dict.fromkeys(names, dimensions if rest is None else rest)
    return {**form, names[0]: dimensions} if names else {}


def _declared_form(spec: OpSpec, names: Sequence[str]) -> Form | None:
    for rule in (spec.rules.shard, spec.rules.batch):
        if isinstance(rule, Dimensions):
            return {name: _named(name, group) for name, group in zip(names, rule.inputs, strict=True)}
        if rule == "elementwise":
            return _form(names, ("a", "b"))
    return None


def _named(argument: str, group: tuple[str, ...]) -> tuple[str, ...]:
    """Return the group's names, with a unique name for each dimension that has none."""
    return tuple(
        f"{argument} {place}" if name == ANONYMOUS else "batch" if name == DOTS else name
        for place, name in enumerate(group)
    )


def _mixes_sizes(spec: OpSpec, names: Sequence[str]) -> bool:
    texts = [str(rule.shape) for rule in spec.rules.out if isinstance(rule, ShapeDtype)]
    return any(sum(f"{name}.shape[" in text for name in names) > 1 for text in texts)


def _structured(argument: Argument, tensor: TensorSample, absent: bool) -> Value:
    type = argument.type
    if isinstance(type, OptionalType):
        if absent:
            return None
        type = type.elem
    return (tensor,) * _LIST_LENGTH if isinstance(type, ListType) else tensor


def _with_defaults(spec: OpSpec, sample: Sample) -> Case:
    given = dict(sample.arguments)
    order = [argument.name for argument in spec.schema.arguments if argument.name in given]
    return Case({name: given[name] for name in order})


def _shown(value: Value) -> str:
    if isinstance(value, TensorSample):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_shown, value))}]"
    return repr(value)
