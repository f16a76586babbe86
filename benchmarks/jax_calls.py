"""Operators in JAX, against a handler for the same kernel that is written by hand, as JAX's documentation shows it."""

from __future__ import annotations

import ctypes
import subprocess
from typing import Any

import peers
from table import Row
from timing import burst, race, rested

import opbridge as ob

_SMALL = 4
_LARGE = 2**20
_PEER = "a hand-written FFI handler"


def small_calls(quick: bool) -> list[Row]:
    import jax
    import jax.numpy as jnp

    op, x = _operator(), jnp.linspace(-1, 1, _SMALL)
    contestants = {
        "jax.jit(op.jax)(x)": burst("f(x)", f=jax.jit(op.jax), x=x),
        "op(x)": burst("f(x)", f=op, x=x),
        _PEER: burst("f(x)", f=_by_hand(), x=x),
    }
    times = race(contestants, rounds=5 if quick else 1001)
    reach = {"jax.jit(op.jax)(x)": "1.05", "op(x)": None}
    return [
        Row.relative(f"JAX call, 4 floats: `{way}`", times[way], _PEER, times[_PEER], bound)
        for way, bound in reach.items()
    ]


def large_calls(quick: bool) -> list[Row]:
    import jax
    import jax.numpy as jnp

    function = _operator().jax
    x = jnp.linspace(-1, 1, _LARGE).reshape(1024, 1024)
    contestants = {
        "jax.jit(op.jax)(x)": burst("f(x).block_until_ready()", f=jax.jit(function), x=x),
        "jax.jit(jax.vmap(op.jax))(x)": burst("f(x).block_until_ready()", f=jax.jit(jax.vmap(function)), x=x),
        _PEER: burst("f(x).block_until_ready()", f=_by_hand(), x=x),
    }
    times = race({name: rested(one) for name, one in contestants.items()}, rounds=3 if quick else 101)
    what = "JAX call, 1M floats"
    one, batch = "jax.jit(op.jax)(x)", "jax.jit(jax.vmap(op.jax))(x)"
    return [
        Row.relative(f"{what}: `{one}`", times[one], _PEER, times[_PEER], "1.05"),
        Row.relative(f"{what}: `{batch}`", times[batch], f"`{one}`", times[one], "1.05"),
    ]


def _operator() -> Any:
    return ob.load(peers.KERNELS / "ops.yaml").leaky_relu


def _by_hand() -> Any:
    import jax
    import numpy as np

    library = peers.folder("jax") / "leaky_relu.so"
    source = peers.KERNELS / "leaky_relu_xla.cpp"
    flags = ["-std=c++17", "-O3", "-march=native", "-w", "-shared", "-fPIC", f"-isystem{jax.ffi.include_dir()}"]
    subprocess.run(["g++", *flags, str(source), "-o", str(library)], check=True)
    handler = jax.ffi.pycapsule(ctypes.CDLL(str(library)).leaky_relu_xla)
    jax.ffi.register_ffi_target("bench_leaky_relu", handler, platform="cpu")

    def leaky_relu(x: Any) -> Any:
        return jax.ffi.ffi_call("bench_leaky_relu", jax.ShapeDtypeStruct(x.shape, x.dtype))(x, slope=np.float64(0.01))

    return jax.jit(leaky_relu)
