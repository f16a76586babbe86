"""Find the operator of a call from its text in a program, in a process that did not trace the program."""

from __future__ import annotations

import json

from opbridge.base.errors import KernelError
from opbridge.frameworks.dispatch import operators


def resolve(call: str, device: str) -> object:
    """Return the Target of a call, which the handler caches; raise KernelError if its library is not loaded."""
    said = json.loads(call)
    name = said["op"]
    if name not in operators and name.startswith("aten::"):
        from opbridge.frameworks.aten.aten_runtime import open_operator

        open_operator(name)
    if name not in operators:
        raise KernelError(
            f"{name} is not loaded in this process; load its library (opbridge.load) before the program runs"
        )
    return operators[name].jax.target_of(said, device)
