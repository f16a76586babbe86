"""How a view is pickled and copied, whatever type a framework has for it: as the operator, and the name of the view."""

from __future__ import annotations

import copyreg
from contextlib import suppress
from types import FunctionType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from opbridge.op import Op

_origins: WeakKeyDictionary[Any, tuple[Op, str]] = WeakKeyDictionary()


def pickle_by_operator(view: Any, op: Op, framework: str) -> None:
    """A class that says itself how its objects are pickled is left to say it; so are functions, which Python names."""
    kind = type(view)
    said = {"__reduce__", "__reduce_ex__"}
    if kind is FunctionType or any(said & vars(base).keys() for base in kind.__mro__[:-1]):
        return
    with suppress(TypeError):  # of a package of somebody else's, and of a type that cannot be referred to weakly
        _origins[view] = (op, framework)
        copyreg.pickle(kind, _reduced)


def _reduced(value: Any) -> Any:
    found = _origins.get(value)
    # PyTorch has objects of such types that are nothing of ours.
    return (getattr, found) if found else value.__reduce_ex__(4)
