"""Functions of devices alone that code of the host may call, which nvcc refuses.

Overloads decide which function a call means, so each function that shares its name with a call finds out when it runs.
"""

from __future__ import annotations

from opbridge.build.cxx.tokens import Kind
from opbridge.twins.cuda.rewriting.declarations import function_name
from opbridge.twins.cuda.rewriting.source import Source


def note_device_function(source: Source, opened: int) -> None:
    """Note the function of devices alone whose body opens here."""
    name = function_name([source.tokens[i] for i in source.head])
    if name is not None and not source.in_constant_function:
        source.device_bodies.append((name, opened))


def note_calls_of_host(source: Source, opened: int) -> None:
    """Note what the function of the host whose body opens here calls."""
    before = ""
    for token in source.body(opened):
        if token.text == "(" and before:
            source.called_by_host.add(before)
        if not token.blank:
            before = token.text if token.kind is Kind.NAME else ""


def mark_called_by_host(source: Source) -> None:
    """Let the functions of devices that host code seems to call ask who runs them."""
    if source.in_macro or source.unit.is_library:
        return
    for name, opened in source.device_bodies:
        if name in source.called_by_host:
            source.behind[opened] = f'{source.behind.get(opened, "")} OPBRIDGE_TWIN_DEVICE_ONLY("{name}")'
