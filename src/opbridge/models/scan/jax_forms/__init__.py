"""PyTorch operators written in JAX, with PyTorch names and signatures.

No form is trusted because it exists: `opbridge.models.scan.trial_process` calls it as a network does, and compares the
results.
"""

from typing import Any

from opbridge.models.scan.jax_forms import (
    activations,
    arithmetic,
    creation,
    indexing,
    layers,
    losses,
    pooling,
    recurrent,
    reductions,
    shapes,
)

_MODULES = (activations, arithmetic, indexing, layers, losses, creation, pooling, recurrent, reductions, shapes)


def __getattr__(name: str) -> Any:
    for module in _MODULES:
        if name in vars(module):
            return vars(module)[name]
    raise AttributeError(name)
