"""NumPy references for the demo's operators."""

from typing import Any

import numpy as np


def swiglu(x: Any, gate: Any) -> Any:
    """Return silu(x) * gate."""
    return gate * x / (1 + np.exp(-x))


def softshrink(x: Any, lambd: float = 0.5) -> Any:
    """Return x moved towards zero by lambd, and zero between -lambd and lambd."""
    return np.sign(x) * np.maximum(np.abs(x) - lambd, 0)


def row_norm(x: Any, *, epsilon: float = 0.001) -> Any:
    """Return x divided by the root mean square of its last dimension."""
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + epsilon)


def squared_relu(x: Any) -> Any:
    """Return the square of relu(x)."""
    return np.maximum(x, 0) ** 2
