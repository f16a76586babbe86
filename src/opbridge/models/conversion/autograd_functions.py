"""Export a network's own torch.autograd.Function as an operator, which torch.export keeps with its gradient."""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, reduce
from typing import Any

import torch

from opbridge.base.errors import UnsupportedError

NAMESPACE = "opbridge_functions"
_LIBRARY = torch.library.Library(NAMESPACE, "FRAGMENT")
_SOURCES: dict[str, str] = {}
"""Expressions that define an operator again, by its full name."""
_CONSTANTS = (bool, int, float, str, type(None))


def source_of(name: str) -> str | None:
    """Return the expression that defines an operator and gives its name; None if it is no such function."""
    return _SOURCES.get(name)


def function(target: str, *pattern: Any) -> str:
    """Define the operator for `package.module:Function` and return its name.

    `pattern` contains the arguments, with `...` for tensors.
    """
    module, _, path = target.partition(":")
    found = reduce(getattr, path.split("."), importlib.import_module(module))
    return _defined(found, target, pattern)


@contextmanager
def as_operators() -> Iterator[None]:
    """Replace the autograd functions that a network applies with operators, while the context is open."""
    original = torch.autograd.Function.__dict__["apply"]

    def apply(cls: type[torch.autograd.Function], *args: Any, **kwargs: Any) -> Any:
        is_whole = _running or cls.__module__.partition(".")[0] == "torch" or not torch.is_grad_enabled()
        return original.__get__(None, cls)(*args, **kwargs) if is_whole else _applied(cls, args, kwargs)

    torch.autograd.Function.apply = classmethod(apply)
    try:
        yield
    finally:
        torch.autograd.Function.apply = original


_running: list[object] = []
"""The functions that are running; the functions that they apply are not replaced."""


def _applied(cls: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    target = f"{cls.__module__}:{cls.__qualname__}"
    if kwargs or not all(isinstance(each, (torch.Tensor, *_CONSTANTS)) for each in args):
        raise UnsupportedError(
            f"{target} has a gradient of its own, and arguments that are not tensors, numbers or text\n"
            f"  at {_place(cls)}"
        )
    if "<locals>" in target or cls.__module__ == "__main__":
        raise UnsupportedError(
            f"{target} has a gradient of its own, which the package has to find: define it in a module, not in a "
            f"function\n  at {_place(cls)}"
        )
    pattern = tuple(... if isinstance(each, torch.Tensor) else each for each in args)
    packet = getattr(getattr(torch.ops, NAMESPACE), _defined(cls, target, pattern).partition("::")[2])
    results = packet([each for each in args if isinstance(each, torch.Tensor)])
    return tuple(results) if _gives_several[target] else results[0]


def _place(cls: type[torch.autograd.Function]) -> str:
    code = cls.forward.__code__
    return f'File "{code.co_filename}", line {code.co_firstlineno}'


_gives_several: dict[str, bool] = {}


@cache
def _defined(cls: type[torch.autograd.Function], target: str, pattern: tuple[object, ...]) -> str:
    written = ", ".join(["..." if each is ... else repr(each) for each in pattern])
    digest = hashlib.sha256(f"{target}({written})".encode()).hexdigest()[:8]
    name = f"{re.sub(r'[^A-Za-z0-9]+', '_', cls.__qualname__)}_{digest}"
    _LIBRARY.define(f"{name}(Tensor[] given) -> Tensor[]")
    _LIBRARY.impl(name, _kernel(cls, target, pattern), "CompositeImplicitAutograd")
    _SOURCES[f"{NAMESPACE}::{name}"] = f'function("{target}", {written})'
    return f"{NAMESPACE}::{name}"


def _kernel(
    cls: type[torch.autograd.Function], target: str, pattern: tuple[object, ...]
) -> Callable[[list[torch.Tensor]], list[torch.Tensor]]:
    def run(given: list[object]) -> list[torch.Tensor]:
        left = iter(given)
        _running.append(cls)
        try:
            results = cls.apply(*(next(left) if each is ... else each for each in pattern))
        finally:
            _running.pop()
        _gives_several[target] = isinstance(results, tuple)
        return list(results) if isinstance(results, tuple) else [results]

    return run
