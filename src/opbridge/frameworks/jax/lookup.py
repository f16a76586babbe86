"""Finds what a program calls by the text it holds, when the program runs in a process that has not traced it."""

from __future__ import annotations

import json

from opbridge.errors import KernelError
from opbridge.frameworks.dispatch import operators


def resolve(call: str, device: str) -> object:
    """The Target of a call; the handler asks once for each."""
    said = json.loads(call)
    name = said["op"]
    if name not in operators and name.startswith("aten::"):
        from opbridge.frameworks.aten.runtime import open_operator

        open_operator(name)
    if name not in operators:
        raise KernelError(
            f"{name} is not loaded in this process; load its library (opbridge.load) before the program runs"
        )
    return operators[name].jax.target_of(said, device)
