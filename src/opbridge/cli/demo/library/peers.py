"""The usual way to write the demo's operator in each framework, without opbridge."""

import sys
from typing import Any


def swiglu(x: Any, gate: Any) -> Any:
    """Return silu(x) * gate, computed with the functions of the framework that x belongs to."""
    framework: Any = sys.modules[type(x).__module__.partition(".")[0]]
    match framework.__name__:
        case "torch" | "paddle":
            return framework.nn.functional.silu(x) * gate
        case "mindspore":
            return framework.ops.silu(x) * gate
        case "numpy":
            return gate * x / (1 + framework.exp(-x))
    import jax

    return jax.nn.silu(x) * gate
