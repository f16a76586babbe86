"""Where a call in PyTorch goes: asked of the dispatcher, in a process that imports PyTorch in the reporter's place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from opbridge.check.child import Child, Say, serve
from opbridge.frameworks import FRAMEWORKS, installed

_PATIENCE = 600.0

_LEVELS: tuple[tuple[str, str], ...] = (
    ("FuncTorch", "transforms: vmap, grad, jvp"),
    ("Python", "modes and subclasses"),
    ("Autocast", "autocast: mixed precision"),
    ("ADInplaceOrView", "views and versions"),
    ("Autograd", "autograd: the gradient's node"),
    ("", "the kernels"),
)
"""The keys a call meets, from the outside to the inside, by how their names begin."""


@dataclass(frozen=True)
class Key:
    name: str
    by: str
    """Who registered it."""


@dataclass(frozen=True)
class Level:
    """Keys of which a call meets one at most, before it goes on to the next level."""

    what: str
    keys: tuple[Key, ...]


def walks(operators: Sequence[Any]) -> dict[str, tuple[Level, ...]]:
    """By operator; empty where PyTorch is not here or cannot have the operator."""
    if not installed(FRAMEWORKS["torch"]):
        return {}
    found = {}
    with Child("opbridge.report.dispatch", list(operators), {}, _PATIENCE) as child:
        for said in child.messages():
            if "operator" in said:
                found[said["operator"]] = levels([(key, by) for key, by in said["registrations"]])
    return found


def levels(registrations: Sequence[tuple[str, str]]) -> tuple[Level, ...]:
    """The registrations as a call meets them."""
    prefixes = [prefix for prefix, _ in _LEVELS]
    groups: dict[str, list[Key]] = {prefix: [] for prefix in prefixes}
    for name, by in registrations:
        groups[next(prefix for prefix in prefixes if name.startswith(prefix))].append(Key(name, by))
    return tuple(Level(what, tuple(groups[prefix])) for prefix, what in _LEVELS if groups[prefix])


def _work(operators: list[Any], say: Say) -> None:
    from opbridge.errors import OpbridgeError
    from opbridge.frameworks.torch.dispatch import registrations

    for op in operators:
        try:
            op.torch  # noqa: B018 - registers it
        except OpbridgeError:
            continue  # a check says why
        say(operator=op.name, registrations=[(one.key, one.by) for one in registrations(op.name)])


if __name__ == "__main__":
    serve(_work)
