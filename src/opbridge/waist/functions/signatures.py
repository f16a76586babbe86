"""The parameters of a function, from Python or from its pybind11 docstring."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

REQUIRED = inspect.Parameter.empty
"""The default of a parameter that has none."""


@dataclass(frozen=True)
class FunctionParameter:
    """A parameter of a function."""

    name: str
    default: object = REQUIRED
    keyword_only: bool = False


def parameters_of(function: Callable[..., object]) -> tuple[FunctionParameter, ...] | None:
    """Return the parameters, or None if they are unknown or the function accepts any number of arguments."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return _from_docstring(function)
    kinds = inspect.Parameter
    if any(item.kind in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD) for item in signature.parameters.values()):
        return _from_docstring(function)
    return tuple(
        FunctionParameter(item.name, item.default, item.kind is kinds.KEYWORD_ONLY)
        for item in signature.parameters.values()
    )


def name_of(function: Callable[..., object]) -> str:
    """Return the name for messages, such as `lltm.forward` for a function of an extension."""
    if inspect.isbuiltin(function):  # pybind11 sets the qualified name to that of an internal type
        return f"{function.__module__}.{function.__name__}"
    return str(getattr(function, "__qualname__", type(function).__name__))


def _from_docstring(function: Callable[..., object]) -> tuple[FunctionParameter, ...] | None:
    """Parse the signature on the first line of a pybind11 docstring.

    An example is `cell(x: torch.Tensor, eps: float = 1e-05) -> object`.
    """
    first = (getattr(function, "__doc__", None) or "").partition("\n")[0]
    name = re.escape(getattr(function, "__name__", ""))
    found = re.fullmatch(rf"{name}\((?P<inside>.*)\)(?: -> .*)?", first)
    if found is None or not name:
        return None
    parameters, keyword_only = [], False
    for text in _split(found["inside"]):
        if text in ("*", "/"):
            keyword_only = keyword_only or text == "*"
            continue
        parameter = re.fullmatch(r"(?P<name>\w+)(?:: (?P<type>.*?))?(?: = (?P<default>.*))?", text)
        if parameter is None:  # *args, of an overloaded function
            return None
        default = _literal(parameter["default"])
        parameters.append(FunctionParameter(parameter["name"], default, keyword_only))
    return tuple(parameters)


def _split(text: str) -> Iterator[str]:
    """Split at the commas outside of brackets and strings."""
    depth, start, quote = 0, 0, ""
    for place, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and depth == 0:
            yield text[start:place].strip()
            start = place + 1
    if last := text[start:].strip():
        yield last


def _literal(text: str | None) -> object:
    """Return the value of a default; one that cannot be parsed makes the parameter required."""
    if text is None:
        return REQUIRED
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return REQUIRED
