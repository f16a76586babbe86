"""PyTorch's operators in JAX's own, by PyTorch's names and signatures.

Nothing is right because it stands here: `opbridge.scan.probe` calls it as a network does, and compares.
"""

from typing import Any

from opbridge.scan.jax_forms import (
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
