"""Pickle and copy views of any type as the operator and the name of the view."""

from __future__ import annotations

import copyreg
from contextlib import suppress
from types import FunctionType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from opbridge.waist.op import Op

_origins: WeakKeyDictionary[object, tuple[Op, str]] = WeakKeyDictionary()


def pickle_by_operator(view: object, op: Op, framework: str) -> None:
    """Make a view pickle as its operator, unless its class defines pickling or it is a function, which has a name."""
    kind = type(view)
    said = {"__reduce__", "__reduce_ex__"}
    if kind is FunctionType or any(said & vars(base).keys() for base in kind.__mro__[:-1]):
        return
    with suppress(TypeError):  # a type of another package may not support weak references
        _origins[view] = (op, framework)
        copyreg.pickle(kind, _reduced)


def _reduced(value: object) -> Any:
    found = _origins.get(value)
    # PyTorch has other objects of such types.
    return (getattr, found) if found else value.__reduce_ex__(4)
