"""One test for each element type and format that decorators name, as torch_npu.testing.decorator makes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from itertools import product
from typing import Any

import torch

from opbridge.base.errors import InputError

_LISTS = {"dtype": "dtypes", "format": "formats"}
"""For each part of a parameter's name, the attribute that lists its values."""


class Dtypes:
    """Run the test for each of these element types, as its parameter named like `dtype`."""

    def __init__(self, *args: torch.dtype) -> None:
        wrong = [value for value in args if not isinstance(value, torch.dtype)]
        if wrong or not args:
            raise InputError(f"Dtypes expects element types of PyTorch, got {wrong or 'none'}")
        self.args = args

    def __call__(self, fn: Any) -> Any:
        """Note the types on the test."""
        fn.dtypes = self.args
        return fn


class Formats:
    """Run the test for each of these formats, as its parameter named like `format`."""

    def __init__(self, *args: int) -> None:
        if not args:
            raise InputError("Formats expects formats, got none")
        self.args = args

    def __call__(self, fn: Any) -> Any:
        """Note the formats on the test."""
        fn.formats = self.args
        return fn


def instantiate_tests(arg: type) -> type:
    """Replace the tests of a class that have Dtypes or Formats by one for each combination."""
    for name, test in list(vars(arg).items()):
        named = {key: getattr(test, values) for key, values in _LISTS.items() if hasattr(test, values)}
        if not named:
            continue
        parameters = inspect.getfullargspec(test).args
        for values in product(*named.values()):
            chosen = {_parameter(name, key, parameters): value for key, value in zip(named, values, strict=True)}
            device = {"device": "npu"} if "device" in parameters else {}
            variant = "_".join([name, *(str(value).rpartition(".")[2] for value in values)])
            setattr(arg, variant, _with(test, variant, chosen | device))
        delattr(arg, name)
    return arg


def _parameter(test: str, key: str, parameters: list[str]) -> str:
    found = [parameter for parameter in parameters if key in parameter]
    if len(found) != 1:
        raise InputError(f"{test}: expected one parameter with '{key}' in its name, got {', '.join(found) or 'none'}")
    return found[0]


def _with(test: Callable[..., Any], name: str, values: dict[str, Any]) -> Callable[[object], object]:
    @wraps(test)
    def variant(self: object) -> Any:
        return test(self, **values)

    variant.__name__ = name
    return variant
