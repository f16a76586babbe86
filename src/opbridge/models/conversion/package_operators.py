"""The operators that a package uses, and how its source names and defines them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from torch._ops import OpOverload

from opbridge.models.conversion import assumptions, opaque_modules
from opbridge.models.conversion import autograd_functions as functions


@dataclass
class Operators:
    """The operators of a package, each with its name in the source."""

    used: dict[str, str] = field(default_factory=dict)
    """The names in the source, by ATen name with overload."""
    native: set[str] = field(default_factory=set)
    """ATen names of the operators that the framework computes itself."""
    helpers: set[str] = field(default_factory=set)
    """opbridge functions that the source calls."""
    needs_pytorch: bool = False
    """Whether a constant tensor is made by PyTorch when the package is loaded."""
    drawn: list[str] = field(default_factory=list)
    """The functions that draw random numbers, with one entry per call."""

    def name(self, op: OpOverload) -> str:
        """Return the name of an operator in the source, and record that it is used."""
        full = op._name.removesuffix(".default")
        words = re.sub(r"\W+", "_", full.removeprefix("aten::")).strip("_").lower()
        return self.used.setdefault(full, f"aten_{words}")

    def definitions(self, view: str) -> str:
        """Return the lines that define a framework's views of the operators."""
        return "\n".join(f"{self.used[full]} = ob.aten({_said(full)}).{view}" for full in sorted(self.used))

    @property
    def imported(self) -> str:
        """The import lines for operators that are a network's own functions and modules, if any."""
        named = ((module, name) for module, name in _OWN if any(map(module.source_of, self.used)))
        return "".join(f"from {module.__name__} import {name}\n" for module, name in named)


_OWN = ((assumptions, "ASSUMED"), (functions, "function"), (opaque_modules, "whole"))
"""Modules that make operators, and the name that a source imports from each."""


def _said(full: str) -> str:
    """Return the expression for an operator name."""
    return next(filter(None, (module.source_of(full) for module, _ in _OWN)), f'"{full}"')
