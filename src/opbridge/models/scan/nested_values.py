"""Values in nested mappings, tuples and lists, as operators take and return them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch


def mapped(value: Any, function: Callable[[Any], object]) -> Any:
    """Apply a function to all leaves of nested dicts, lists and tuples; lists become tuples."""
    if isinstance(value, dict):
        return {key: mapped(item, function) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(mapped(item, function) for item in value)  # many MindSpore functions refuse lists
    return function(value)


def leaves(value: Any) -> Iterator[Any]:
    """Yield all that is in nested mappings, tuples and lists, in order."""
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def tensors(value: object) -> Iterator[torch.Tensor]:
    """Yield the tensors in nested mappings, tuples and lists, in order."""
    return (each for each in leaves(value) if isinstance(each, torch.Tensor))
