"""Report calls whose tensors come from several frameworks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from opbridge.base.errors import CallError
from opbridge.frameworks import Framework, framework_of

_TAKEN_BY = {"jax": "numpy"}
"""The framework whose tensors another framework accepts as its own."""


def mixed_frameworks(name: str, args: tuple[object, ...], kwargs: Mapping[str, object]) -> CallError | None:
    """Return the error for a call with tensors of several frameworks; None if there is one framework at most."""
    found: dict[str, tuple[Framework, str]] = {}
    for place, value in _leaves(args, kwargs):
        row = framework_of(type(value))
        if row is not None:
            found.setdefault(row.name, (row, place))
    for framework in list(found):
        found.pop(_TAKEN_BY.get(framework, ""), None)
    if len(found) < 2:
        return None
    first = next(iter(found.values()))[0]
    got = " and ".join(f"{row.tensor} ({place})" for row, place in found.values())
    return CallError(
        f"{name}: the tensors of a call come from one framework, got {got}; {first.conversion} converts a tensor x"
    )


def refuse_foreign(name: str, own: Framework, value: object) -> None:
    """Raise CallError if a value is a tensor of another framework than `own`."""
    row = framework_of(type(value))
    if row is not None and row.name not in (own.name, "numpy"):
        raise CallError(
            f"{name}: expected {own.tensor}, got {row.tensor}; the tensors of a call come from one framework: "
            f"{own.conversion} converts a tensor x, and op.{row.name} takes {row.tensor}"
        )


def _leaves(args: tuple[object, ...], kwargs: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    named = [(f"argument {place + 1}", value) for place, value in enumerate(args)]
    named += [(f"argument '{name}'", value) for name, value in kwargs.items()]
    for place, value in named:
        if isinstance(value, (list, tuple)):
            yield from ((f"item {index} of {place}", item) for index, item in enumerate(value))
        else:
            yield place, value
