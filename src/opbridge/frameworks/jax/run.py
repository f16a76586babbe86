"""Run a call: traced while JAX traces, otherwise compiled once."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import jax
import jax.numpy as jnp

from opbridge.base.errors import KernelError, OpbridgeError
from opbridge.frameworks.jax.call import Array, Call, in_program
from opbridge.frameworks.jax.handler import TARGET, handler_or_reason
from opbridge.frameworks.jax.primitives import bind_call
from opbridge.frameworks.jax.uncompiled import run_for_effect

RUNTIME_ERRORS = (jax.errors.JaxRuntimeError, ValueError)
"""The errors that a program raises if a kernel fails: the second if JAX ran the program before."""


def traced(call: Call) -> Callable[..., object]:
    """Return a function that runs the call on tensors of which some are traced."""
    if not call.returns:
        return lambda *tensors: _run_for_effect(call, tensors)
    return lambda *tensors: call.arranged(bind_call(call, *map(jnp.asarray, tensors)))


@lru_cache(maxsize=1024)
def compiled(call: Call) -> Callable[..., object]:
    """Return a compiled function that runs the call on arrays; JAX inlines it in a traced function."""

    def run(*tensors: Array) -> object:
        return traced(call)(*tensors)

    run.__name__ = call.name.partition("::")[2]
    function: Callable[..., object] = jax.jit(run, inline=True)
    return function


def _run_for_effect(call: Call, tensors: tuple[Array, ...]) -> None:
    call.target()  # report errors now rather than when the program runs
    still = [*map(jax.lax.stop_gradient, tensors)]
    if reason := handler_or_reason():
        run_for_effect(call, still, reason)
    else:
        jax.ffi.ffi_call(TARGET, (), has_side_effect=True)(*still, **in_program(call))


def translated(name: str, error: BaseException) -> BaseException:
    """Extract the error of an operator from an XLA message; return other errors unchanged."""
    _, found, rest = str(error).partition(f"{name}: ")
    if isinstance(error, OpbridgeError) or not found:
        return error
    return KernelError(found + rest)


def is_traced(value: object) -> bool:
    """Return whether JAX traces the value."""
    return isinstance(value, jax.core.Tracer)
