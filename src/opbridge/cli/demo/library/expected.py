"""What the demo's operators compute, in NumPy."""

from typing import Any

import numpy as np


def swiglu(x: Any, gate: Any) -> Any:
    return gate * x / (1 + np.exp(-x))


def softshrink(x: Any, lambd: float = 0.5) -> Any:
    return np.sign(x) * np.maximum(np.abs(x) - lambd, 0)


def row_norm(x: Any, *, epsilon: float = 0.001) -> Any:
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + epsilon)


def squared_relu(x: Any) -> Any:
    return np.maximum(x, 0) ** 2
