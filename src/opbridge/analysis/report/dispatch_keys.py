"""List the dispatch keys that a PyTorch call meets, as a separate process asks the dispatcher for them.

The process that writes the report does not import PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from opbridge.frameworks import FRAMEWORKS, installed
from opbridge.verify.check.child_process import Child, Say, serve

_PATIENCE = 600.0

_LEVELS: tuple[tuple[str, str], ...] = (
    ("FuncTorch", "transforms: vmap, grad, jvp"),
    ("Python", "modes and subclasses"),
    ("Autocast", "autocast: mixed precision"),
    ("ADInplaceOrView", "views and versions"),
    ("Autograd", "autograd: the gradient's node"),
    ("", "the kernels"),
)
"""The levels that a call meets, from outermost to innermost, by the prefix of their key names."""


@dataclass(frozen=True)
class Key:
    """A dispatch key with a registration for an operator."""

    name: str
    by: str
    """The library that registered it."""


@dataclass(frozen=True)
class Level:
    """A group of dispatch keys; a call meets at most one of them before it continues on the next level."""

    what: str
    keys: tuple[Key, ...]


def walks(operators: Sequence[object]) -> dict[str, tuple[Level, ...]]:
    """Return the dispatch levels of each operator, by name.

    The result is empty if PyTorch is not installed, and has no entry for an operator that PyTorch cannot register.
    """
    if not installed(FRAMEWORKS["torch"]):
        return {}
    found = {}
    with Child("opbridge.analysis.report.dispatch_keys", list(operators), {}, _PATIENCE) as child:
        for said in child.messages():
            if "operator" in said:
                found[said["operator"]] = levels([(key, by) for key, by in said["registrations"]])
    return found


def levels(registrations: Sequence[tuple[str, str]]) -> tuple[Level, ...]:
    """Sort registrations into levels, in the order in which a call meets them."""
    prefixes = [prefix for prefix, _ in _LEVELS]
    groups: dict[str, list[Key]] = {prefix: [] for prefix in prefixes}
    for name, by in registrations:
        groups[next(prefix for prefix in prefixes if name.startswith(prefix))].append(Key(name, by))
    return tuple(Level(what, tuple(groups[prefix])) for prefix, what in _LEVELS if groups[prefix])


def _work(operators: list[Any], say: Say) -> None:
    from opbridge.base.errors import OpbridgeError
    from opbridge.frameworks.torch.dispatch import registrations

    for op in operators:
        try:
            op.torch  # noqa: B018 - registers it
        except OpbridgeError:
            continue  # `opbridge check` reports why
        say(operator=op.name, registrations=[(one.key, one.by) for one in registrations(op.name)])


if __name__ == "__main__":
    serve(_work)
