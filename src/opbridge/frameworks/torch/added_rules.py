"""Add rules to an operator that is already registered with PyTorch, unless it provides them itself."""

from __future__ import annotations

import torch

from opbridge.base.errors import SchemaError
from opbridge.frameworks.aten.aten_operator import AtenOperator, forward_to, schema_of
from opbridge.frameworks.interface import Library
from opbridge.waist.rules.operator_rules import RULES, brought
from opbridge.waist.schema import Schema

_KEYS = {
    "out": ("Meta",),
    "derivatives": ("Autograd", "AutogradCPU", "AutogradCUDA", "AutogradPrivateUse1"),
    "backward": ("Autograd", "AutogradCPU", "AutogradCUDA", "AutogradPrivateUse1"),
    "batch": ("FuncTorchBatched",),
}
"""The dispatch keys whose kernels implement a rule; a kernel for `_ALL` implements every rule."""
_ALL = "CompositeImplicitAutograd"

_ruled: dict[str, frozenset[str]] = {}
"""The rules that operators provided before they got rules under their own names; the dispatcher now has both."""


def forward(library: Library, index: int) -> tuple[str, tuple[int, ...]] | None:
    """Return the overload that implements an operator of a library, and the order of its arguments; None if none does.

    Raises:
        OpbridgeError: The overload provides one of the rules itself, or its schema does not fit.
    """
    entry = library.catalog.entries[index]
    if entry.operator is None:
        return None
    name, order = forward_to(entry.operator, entry.schema)
    if not entry.kernels[0].is_pytorchs_own:
        own = _ruled.get(name, _brought_by(name))
        for rule in library.spec(index).rules.fields():
            if rule in own:
                raise brought(entry.name, name, rule)
        if name == entry.name:
            _check_schema(entry.schema, name)
            _ruled[name] = own
    return name, order


def _brought_by(name: str) -> frozenset[str]:
    """Return the rules that an operator implements itself."""

    def has(rule: str) -> bool:
        keys = (*_KEYS.get(rule, ()), _ALL)
        return any(torch._C._dispatch_has_kernel_for_dispatch_key(name, key) for key in keys)

    return frozenset(rule.name for rule in RULES.values() if rule.is_brought and has(rule.name))


def _check_schema(schema: str, name: str) -> None:
    ours, theirs = Schema.parse(schema), schema_of(AtenOperator.registered(name).torch)
    if [item.name for item in ours.arguments] != [item.name for item in theirs.arguments]:
        raise SchemaError(f"{name} is registered with other arguments", hint=f"{ours}\n  {theirs}")
