"""Register `flops` rules with the PyTorch FLOP counter: a formula for each name in torch.ops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from opbridge.frameworks.interface import Library
    from opbridge.waist.schema import Schema

_rules: dict[str, dict[str, tuple[Library, int]]] = {}
"""The operator with the rule, by name in torch.ops and by overload; the counter does not distinguish overloads."""


def register(library: Library, index: int) -> None:
    """Make the counter use the rule of an operator, or forget an earlier rule if it has none."""
    entry = library.catalog.entries[index]
    name, _, overload = entry.name.partition(".")
    if not entry.counts_flops:
        _rules.get(name, {}).pop(overload, None)
        return
    from torch.utils.flop_counter import flop_registry

    _rules.setdefault(name, {})[overload] = library, index
    namespace, _, packet = name.partition("::")
    flop_registry[getattr(getattr(torch.ops, namespace), packet)] = partial(_count, name)


def _count(name: str, /, *args: object, out_val: object, **kwargs: object) -> object:
    from opbridge.waist.rules import evaluate_size

    for library, index in _rules.get(name, {}).values():
        spec = library.spec(index)
        arguments = _bound(spec.schema, args, kwargs)
        if arguments is not None and spec.rules.flops is not None:
            return evaluate_size(spec.rules.flops, spec.schema, arguments, _dtype_name)
    return 0


def _bound(schema: Schema, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object] | None:
    """Return the arguments by name; None if they fit another overload."""
    given = dict(zip((argument.name for argument in schema.arguments), args, strict=False)) | dict(kwargs)
    defaults = {item.name: item.default.value for item in schema.arguments if item.default is not None}
    bound = defaults | given
    fits = len(args) <= len(schema.arguments) and bound.keys() == {argument.name for argument in schema.arguments}
    return bound if fits else None


def _dtype_name(dtype: object) -> str:
    return str(dtype).removeprefix("torch.")
