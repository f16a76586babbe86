"""Run operators in JAX by callbacks if the handler cannot be compiled; this is slower, but gives the same results."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import jax
import numpy as np
from jax.experimental import io_callback
from jax.interpreters import mlir

from opbridge.base.errors import OpbridgeError
from opbridge.frameworks.jax.call import Array, Call, Like
from opbridge.frameworks.jax.library import LibraryCall


class UncompiledWarning(UserWarning):
    """Operators run in JAX without the native handler."""


@cache
def say_once(reason: str) -> None:
    """Warn once that operators run by callbacks, and why."""
    warnings.warn(
        "operators run in JAX by callbacks, slower than compiled, because the native handler cannot be had:\n"
        f"  {reason}",
        UncompiledWarning,
        stacklevel=8,
    )


def lowered(call: Call, device: str, reason: OpbridgeError) -> Callable[..., list[object]]:
    """Return the lowering that replaces the handler; raise `reason` if a callback cannot replace it."""
    if device != "cpu" or not isinstance(call, LibraryCall):
        raise reason

    def rule(ctx: mlir.LoweringRuleContext, *operands: object) -> list[object]:
        outputs = ctx.avals_out

        def called(*tensors: Array) -> Sequence[Array]:
            results: Sequence[Array] = jax.pure_callback(
                lambda *arrays: _run(call, arrays, outputs), [_described(output) for output in outputs], *tensors
            )
            return results

        values: list[object] = mlir.lower_fun(called, multiple_results=True)(ctx, *operands)
        return values

    return rule


def run_for_effect(call: Call, tensors: Sequence[Array], reason: OpbridgeError) -> None:
    """Run a call without outputs by a callback; raise `reason` if a callback cannot run it."""
    if not isinstance(call, LibraryCall):
        raise reason
    io_callback(lambda *arrays: _run(call, arrays, ()), (), *tensors)


def _run(call: LibraryCall, arrays: Sequence[Array], outputs: Sequence[Like]) -> tuple[np.ndarray[Any, Any], ...]:
    results = call.on_host([np.asarray(array) for array in arrays])
    return tuple(np.asarray(result, dtype=output.dtype) for result, output in zip(results, outputs, strict=True))


def _described(output: Like) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(output.shape, output.dtype)
