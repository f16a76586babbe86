"""What the generated `construct` asks of its arguments.

Graph mode compiles these functions, and it knows no generators.
"""

from __future__ import annotations

from typing import Any

from mindspore import Tensor

MISSING = "nothing"
"""Stands for an argument that the caller left out although it has no default."""


def types_of(value: Any) -> Any:
    """The element type of a tensor, or those of a list."""
    if isinstance(value, (list, tuple)):
        return tuple([type_of(x) for x in value])
    return type_of(value)


def type_of(x: Any) -> Any:
    if x is None:
        return None
    if isinstance(x, Tensor):
        return x.dtype
    if isinstance(x, str):
        return x
    return "something else"  # only a function that runs while the graph is compiled may raise


def tensors_of(value: Any) -> Any:
    """Those that are there, as a tuple."""
    if value is None:
        return ()
    if isinstance(value, (list, tuple)):
        return tuple([x for x in value if x is not None])
    return (value,)


def copies_of(value: Any) -> Any:
    """Of what is written to; MindSpore keeps the inputs for the gradient, which has to see their old values."""
    if value is None:
        return ()
    return (value.copy(),)
