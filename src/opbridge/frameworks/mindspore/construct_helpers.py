"""Define the functions that the generated `construct` calls.

Graph mode compiles these functions, and it does not support generators.
"""

from __future__ import annotations

from typing import Any

from mindspore import Tensor

MISSING = "nothing"
"""The value of an argument without a default that the caller left out."""


def types_of(value: object) -> object:
    """Return the element type of a tensor, or those of a list."""
    if isinstance(value, (list, tuple)):
        return tuple([type_of(x) for x in value])
    return type_of(value)


def type_of(x: object) -> object:
    """Return the element type of a tensor, None for None, and a text for anything else."""
    if x is None:
        return None
    if isinstance(x, Tensor):
        return x.dtype
    if isinstance(x, str):
        return x
    return "something else"  # only a function that runs during compilation may raise errors


def tensors_of(value: object) -> object:
    """Return the present tensors as a tuple."""
    if value is None:
        return ()
    if isinstance(value, (list, tuple)):
        return tuple([x for x in value if x is not None])
    return (value,)


def copies_of(value: Any) -> object:
    """Return a copy of a tensor that is written to: gradients need the old values of inputs."""
    if value is None:
        return ()
    return (value.copy(),)
