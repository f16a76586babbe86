"""Describe the PyTorch operators: schemas, meaning, and the properties that matter in other frameworks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from opbridge.frameworks.aten.aten_operator import NAMESPACE, AtenOperator

_NAMESPACES = ("", "nn.functional", "linalg", "special", "fft", "Tensor")
"""The torch namespaces in which Python users find an operator, the best documented first."""
_TAGS = {
    torch.Tag.nondeterministic_seeded: "random",
    torch.Tag.dynamic_output_shape: "the shape of its result depends on data",
    torch.Tag.data_dependent_output: "its result is a Python number",
}
_MARKUP = re.compile(r":\w+:`~?([^`]*)`|``([^`]*)``")
_LATEX = re.compile(r"\\text\{([^}]*)\}")
_PROSE = re.compile(r"(?!See )[A-Z].*\w+ \w+")


@dataclass(frozen=True)
class OperatorDescription:
    """An operator with all its overloads."""

    name: str
    """`aten::leaky_relu`."""
    overloads: tuple[Any, ...]
    """The overloads that write into tensors of the caller come last."""

    @property
    def schemas(self) -> tuple[str, ...]:
        """The schemas of all overloads."""
        return tuple(str(overload._schema) for overload in self.overloads)

    @property
    def properties(self) -> tuple[str, ...]:
        """Short phrases about the operator: "in place", "random", "has a gradient"."""
        found = [words for tag, words in _TAGS.items() if any(tag in overload.tags for overload in self.overloads)]
        if self.name.endswith("_") and not self.name.endswith("__"):
            found.insert(0, "in place")
        found.append("has a gradient" if any(map(_is_differentiable, self.overloads)) else "no gradient")
        if any(argument.is_out for overload in self.overloads for argument in overload._schema.arguments):
            found.append("can write into out=")
        return tuple(found)

    @property
    def documentation(self) -> str:
        """The first paragraph of prose in the torch documentation of the operator, if any."""
        for text in _docstrings(self.name.partition("::")[2]):
            for paragraph in re.split(r"\n\s*\n", text):
                plain = _MARKUP.sub(lambda match: match[1] or match[2], paragraph)
                plain = " ".join(_LATEX.sub(lambda match: match[1].replace("\\_", "_"), plain).split())
                if _PROSE.match(plain) and "->" not in plain:
                    return plain
        return ""


def lookup(name: str) -> OperatorDescription:
    """Return the description of an operator, whose name may omit the namespace `aten`."""
    operator = AtenOperator.find(name if "::" in name else f"{NAMESPACE}::{name}")
    return OperatorDescription(operator.full_name, operator.overloads)


@cache
def names() -> tuple[str, ...]:
    """Return the ATen operator names, each once, without overloads."""
    registered = (name.partition("::") for name in torch._C._dispatch_get_all_op_names())
    return tuple(sorted({name.partition(".")[0] for namespace, _, name in registered if namespace == NAMESPACE}))


def search(words: Sequence[str]) -> list[str]:
    """Return the names that match every word, the likeliest first.

    A word is a regular expression if it is a valid one.
    """
    patterns = [_pattern(word) for word in words]
    hits = [name for name in names() if all(pattern.search(name) for pattern in patterns)]

    def unlikeliness(name: str) -> tuple[bool, bool, bool, int, str]:
        derived = name.startswith("_") or name.endswith(("_", "_copy")) or "backward" in name
        starts = any(pattern.match(name) for pattern in patterns)
        return (name not in words, derived, not starts, len(name), name)

    return sorted(hits, key=unlikeliness)


def _pattern(word: str) -> re.Pattern[str]:
    try:
        return re.compile(word, re.IGNORECASE)
    except re.error:
        return re.compile(re.escape(word), re.IGNORECASE)


def _is_differentiable(overload: Any) -> bool:
    """Return whether PyTorch has a backward node for it, or composes it from operators that have one."""
    if torch._C._dispatch_has_kernel_for_dispatch_key(overload.name(), "CompositeImplicitAutograd"):
        return not overload._opname.startswith("is_")
    words = re.split(r"_+|(?<=\d)(?=[a-z])", overload._opname.strip("_"))
    return hasattr(torch._C._functions, "".join(map(str.capitalize, words)) + "Backward0")


def _docstrings(name: str) -> list[str]:
    found = []
    for candidate in dict.fromkeys((name, name.rstrip("_"))):
        for namespace in _NAMESPACES:
            prefix = f"{namespace}_"
            place: Any = torch
            for part in filter(None, namespace.split(".")):
                place = getattr(place, part)
            function = getattr(place, candidate.removeprefix(prefix), None)
            if function is not None and function.__doc__:
                found.append(function.__doc__)
    return found
