"""Operators in JAX where nothing can compile the handler: callbacks run the kernels, slower and never wrong."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import jax
import numpy as np
from jax.experimental import io_callback
from jax.interpreters import mlir

from opbridge.errors import OpbridgeError
from opbridge.frameworks.jax.call import Array, Call, Like
from opbridge.frameworks.jax.library import LibraryCall


class UncompiledWarning(UserWarning):
    """Operators run in JAX without the native handler."""


@cache
def say_once(reason: str) -> None:
    warnings.warn(
        "operators run in JAX by callbacks, slower than compiled, because the native handler cannot be had:\n"
        f"  {reason}",
        UncompiledWarning,
        stacklevel=8,
    )


def lowered(call: Call, device: str, reason: OpbridgeError) -> Callable[..., list[Any]]:
    """What stands in a program in the place of the handler."""
    if device != "cpu" or not isinstance(call, LibraryCall):
        raise reason

    def rule(ctx: Any, *operands: Any) -> list[Any]:
        outputs = ctx.avals_out

        def called(*tensors: Array) -> Sequence[Array]:
            results: Sequence[Array] = jax.pure_callback(
                lambda *arrays: _run(call, arrays, outputs), [_described(output) for output in outputs], *tensors
            )
            return results

        values: list[Any] = mlir.lower_fun(called, multiple_results=True)(ctx, *operands)
        return values

    return rule


def run_for_effect(call: Call, tensors: Sequence[Array], reason: OpbridgeError) -> None:
    if not isinstance(call, LibraryCall):
        raise reason
    io_callback(lambda *arrays: _run(call, arrays, ()), (), *tensors)


def _run(call: LibraryCall, arrays: Sequence[Array], outputs: Sequence[Like]) -> tuple[np.ndarray[Any, Any], ...]:
    results = call.on_host([np.asarray(array) for array in arrays])
    return tuple(np.asarray(result, dtype=output.dtype) for result, output in zip(results, outputs, strict=True))


def _described(output: Like) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(output.shape, output.dtype)
