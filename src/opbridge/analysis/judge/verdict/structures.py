"""Compare what two values are made of: containers, Python scalars, and how many tensors of which types and sizes."""

from __future__ import annotations

from dataclasses import dataclass

from opbridge.analysis.judge.values import Array, Named, arrays_of

_LOOSE = 2.0**-17
"""The relative error of a Python float: it comes from a float32 computation."""


@dataclass(frozen=True)
class Difference:
    """How an output differs from the reference."""

    message: str
    to_do: str
    is_of_numbers: bool = False
    """Whether numbers differ, not shapes or types."""
    is_of_kind: bool = False
    """Whether the number, the types or the containers of tensors differ, which no input size can change."""


def difference_of_sizes(answer: object, reference: object) -> Difference | None:
    """Return the first difference in structure, and in types and shapes of tensors; None if there is none."""
    given, wanted = arrays_of(answer), arrays_of(reference)
    if len(given) != len(wanted):
        message = f"it returns {len(given)} tensors instead of {len(wanted)}"
        return Difference(message, _SAME, is_of_kind=True)
    if isinstance(answer, tuple) and isinstance(reference, Array):
        return Difference("the output is a tuple of one tensor instead of a tensor", _SAME, is_of_kind=True)
    if found := _of_structure(_unwrapped(answer), _unwrapped(reference), "the output"):
        return found
    for output, one, right in zip(names_of(len(given)), given, wanted, strict=True):
        if found := difference_of_one(output, one, right):
            return found
    return None


_SAME = "return the same outputs as the reference"


def names_of(count: int) -> list[str]:
    """Return the names of that many tensors in messages."""
    return [f"output {number}" for number in range(count)] if count > 1 else ["the output"] * count


def difference_of_one(output: str, given: Array, right: Array) -> Difference | None:
    """Return how the type or the shape of a tensor differs; None if both are the same."""
    if given.dtype != right.dtype:
        return Difference(f"{output} is {given} instead of {right}", "make it of the reference's type", is_of_kind=True)
    if given.shape == right.shape:
        return None
    return Difference(f"{output} is {given} instead of {right}", "make it of the reference's shape")


def _unwrapped(value: object) -> object:
    """Return the one item of a list: a binding may return a vector of one tensor for the tensor itself."""
    return value[0] if isinstance(value, (list, tuple)) and len(value) == 1 else value


def _of_structure(answer: object, reference: object, at: str) -> Difference | None:
    if isinstance(reference, (list, tuple)) and isinstance(answer, (list, tuple)) and len(answer) == len(reference):
        items = enumerate(zip(answer, reference, strict=True))
        return next(filter(None, (_of_structure(*pair, f"{at}[{number}]") for number, pair in items)), None)
    if isinstance(reference, dict) and isinstance(answer, dict) and answer.keys() == reference.keys():
        pairs = ((answer[key], reference[key], f"{at}[{key!r:.40}]") for key in reference)
        return next(filter(None, (_of_structure(*pair) for pair in pairs)), None)
    if _is_same_leaf(answer, reference):
        return None
    return Difference(f"{at} is {_kind(answer)} instead of {_kind(reference)}", _SAME, is_of_kind=True)


def _is_same_leaf(answer: object, reference: object) -> bool:
    if isinstance(reference, (Array, Named)):
        return type(answer) is type(reference)
    if isinstance(reference, float) and isinstance(answer, float):
        is_same = answer == reference or (answer != answer and reference != reference)
        return is_same or abs(answer - reference) <= _LOOSE * abs(reference)
    return type(answer) is type(reference) and answer == reference and not isinstance(reference, (list, tuple, dict))


def _kind(value: object) -> str:
    if isinstance(value, Array):
        return "a tensor"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"a dictionary of {', '.join(map(repr, value)):.80}"
    return f"{value!r:.40}"
