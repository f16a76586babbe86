"""PyTorch operators written in JAX, with PyTorch names and signatures.

No form is trusted because it exists: `opbridge.models.scan.probe` calls it as a network does, and compares the results.
"""

from typing import Any

from opbridge.models.scan.jax_forms import (
    activations,
    arithmetic,
    choosing,
    layers,
    losses,
    making,
    pooling,
    reducing,
    shaping,
)

_MODULES = (activations, arithmetic, choosing, layers, losses, making, pooling, reducing, shaping)


def __getattr__(name: str) -> Any:
    for module in _MODULES:
        if name in vars(module):
            return vars(module)[name]
    raise AttributeError(name)
