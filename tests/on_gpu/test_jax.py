"""JAX's own arrays on a GPU: kernels on XLA's stream and memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import opbridge as ob
from opbridge.waist.op import OpLibrary

jax = pytest.importorskip("jax")
jnp = jax.numpy

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
pytestmark = pytest.mark.skipif(jax.default_backend() != "gpu", reason="JAX sees no GPU")


@pytest.fixture(scope="module")
def library() -> OpLibrary:
    return ob.load(BENCHMARKS / "kernels" / "gpu.yaml")


def on_gpu(*shape: int) -> object:
    return jnp.asarray(np.random.default_rng(0).standard_normal(shape), jnp.float32)


def test_an_operator_runs_by_itself_and_in_programs(library: OpLibrary) -> None:
    x, y = on_gpu(64, 1000), on_gpu(64, 1000)
    expected = np.asarray(x) + 1.5 * np.asarray(y)
    for call in (library.saxpy.jax, jax.jit(library.saxpy.jax, static_argnames="alpha")):
        out = call(x, y, alpha=1.5)
        assert next(iter(out.devices())).platform == "gpu"
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)
    program = jax.jit(lambda x: library.row_sum.jax(library.softmax.jax(x * 2)).sum())
    np.testing.assert_allclose(program(x), 64, rtol=1e-5)


def test_it_has_gradients_and_is_batched(library: OpLibrary) -> None:
    x, y = on_gpu(5, 7), on_gpu(5, 7)
    of_x, of_y = jax.jit(jax.grad(lambda x, y: library.saxpy.jax(x, y, alpha=0.5).sum(), (0, 1)))(x, y)
    np.testing.assert_allclose(of_x, 1)
    np.testing.assert_allclose(of_y, 0.5)
    batched = jax.vmap(library.saxpy.jax)(x, y)
    np.testing.assert_allclose(batched, np.asarray(x) + np.asarray(y), rtol=1e-6)


def test_half_numbers(library: OpLibrary) -> None:
    x = on_gpu(1000).astype(jnp.bfloat16)
    assert library.saxpy.jax(x, x).dtype == jnp.bfloat16


def test_a_loop_of_the_device_calls_it_often(library: OpLibrary) -> None:
    x = on_gpu(1000)
    looped = jax.jit(lambda x: jax.lax.fori_loop(0, 100, lambda _, v: library.saxpy.jax(v, x, alpha=0.01), x))
    np.testing.assert_allclose(looped(x), 2 * np.asarray(x), rtol=1e-4)


def test_a_formula() -> None:
    op = ob.formula("gpu_in_jax::swiglu(Tensor x, Tensor y) -> Tensor", "x * sigmoid(x) * y")
    x, y = on_gpu(33, 257), on_gpu(33, 257)
    np.testing.assert_allclose(jax.jit(op.jax)(x, y), jax.nn.silu(x) * y, rtol=1e-5, atol=1e-6)
    ours = jax.grad(lambda x: op.jax(x, y).sum())(x)
    np.testing.assert_allclose(ours, jax.grad(lambda x: (jax.nn.silu(x) * y).sum())(x), rtol=1e-4, atol=1e-5)
    total = ob.formula("gpu_in_jax::norm(Tensor x) -> Tensor", "x * rsqrt(mean(x * x, -1, keepdim=True) + 1e-6)")
    np.testing.assert_allclose(
        total.jax(x), x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6), rtol=1e-5, atol=1e-6
    )


def test_the_host_is_told_that_it_has_no_kernel(library: OpLibrary) -> None:
    with pytest.raises(Exception, match="cpu"):
        jax.jit(library.saxpy.jax, backend="cpu")(on_gpu(3), on_gpu(3))
