"""What people write without opbridge, in each framework."""

import sys
from typing import Any


def swiglu(x: Any, gate: Any) -> Any:
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
