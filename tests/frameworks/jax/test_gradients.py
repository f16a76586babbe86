"""Derivatives in JAX: both modes, any order, and errors where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from opbridge.base.errors import UnsupportedError
from opbridge.waist.op import OpLibrary


@pytest.fixture(autouse=True)
def _x64() -> Iterator[None]:
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


def real(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape)


def complex_(*shape: int) -> np.ndarray[Any, Any]:
    return real(*shape) + 1j * real(*shape, seed=1)


Case = Callable[[OpLibrary], tuple[Callable[..., Any], tuple[Any, ...]]]

DIFFERENTIABLE: dict[str, Case] = {
    "one formula each": lambda lib: (lambda x, y: lib.scaled_add(x, y, alpha=0.3), (real(3), real(3))),
    "formulas of arguments": lambda lib: (lib.product, (real(2, 3), real(2, 3))),
    "complex numbers": lambda lib: (lib.product, (complex_(4), complex_(4))),
    "a backward kernel": lambda lib: (lib.fused_product, (real(2, 3), real(2, 3))),
    "a saved result": lambda lib: (lib.exponential, (real(3),)),
    "a saved complex result": lambda lib: (lib.exponential, (complex_(3),)),
    "several outputs": lambda lib: (lib.sine_cosine, (real(3),)),
    "one output of several": lambda lib: (lambda x: lib.sine_cosine(x)[1], (real(3),)),
    "a matrix product": lambda lib: (lib.matrix_product, (real(2, 3), real(3, 4))),
    "a broadcast": lambda lib: (lib.broadcast_add, (real(4, 1, 3), real(2, 1))),
    "a broadcast to rank 0": lambda lib: (lib.broadcast_add, (real(), real(2))),
    "another shape": lambda lib: (lib.row_sums, (real(2, 3),)),
    "an optional tensor": lambda lib: (lib.add_bias, (real(2, 3), real(3))),
    "an absent tensor": lambda lib: (lambda x: lib.add_bias(x, None), (real(2, 3),)),
    "an operator in place": lambda lib: (lambda x, y: lib.scaled_add_(x, y, alpha=0.3), (real(3), real(3))),
    "the same tensor twice": lambda lib: (lambda x: lib.product(x, x), (real(3),)),
    "no elements": lambda lib: (lib.product, (real(0, 2), real(0, 2))),
    "rank 0": lambda lib: (lib.product, (real(), real())),
}


def check_twice(function: Callable[..., Any], *inputs: Any) -> None:
    """Holds derivatives in both modes, and those of the gradient, against differences."""

    def gradient(*values: Any) -> Any:
        outputs, pull = jax.vjp(function, *values)
        return pull(jax.tree.map(lambda output: jnp.cos(output.real).astype(output.dtype), outputs))

    for differentiated in (function, gradient):
        check_grads(jax.jit(differentiated), inputs, order=1, modes=("fwd", "rev"))


@pytest.mark.cases(7)
@pytest.mark.parametrize("case", DIFFERENTIABLE.values(), ids=DIFFERENTIABLE.keys())
def test_derivatives_are_exact_to_the_second_order_in_every_mode(lib: OpLibrary, case: Case) -> None:
    function, inputs = case(lib)
    check_twice(function, *map(jnp.asarray, inputs))


def test_a_list_of_tensors(lib: OpLibrary) -> None:
    pytest.importorskip("torch")  # its formula calls an operator of PyTorch's
    check_twice(lambda x, y: lib.pile([x, y, x]), jnp.asarray(real(2)), jnp.asarray(real(2)))


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_inside_and_outside_of_jit(lib: OpLibrary, compiled: bool) -> None:
    def loss(x: Any, y: Any) -> Any:
        return lib.exponential(lib.product(x, y)).sum()

    gradient = jax.value_and_grad(loss, argnums=(0, 1))
    x, y = real(3), real(3, seed=1)
    value, (of_x, of_y) = (jax.jit(gradient) if compiled else gradient)(x, y)
    np.testing.assert_allclose(value, np.exp(x * y).sum())
    np.testing.assert_allclose(of_x, y * np.exp(x * y))
    np.testing.assert_allclose(of_y, x * np.exp(x * y))


def test_hessians_and_jacobians(lib: OpLibrary) -> None:
    x = jnp.asarray(real(3))

    def ours(a: Any) -> Any:
        return lib.product(lib.exponential(a), a)

    expected = jax.jit(jax.hessian(lambda a: jnp.exp(a) * a))(x)
    for outer in (jax.jacfwd, jax.jacrev):
        for inner in (jax.jacfwd, jax.jacrev):
            np.testing.assert_allclose(jax.jit(outer(inner(ours)))(x), expected, atol=1e-12)


def test_the_third_derivative(lib: OpLibrary) -> None:
    third = jax.grad(jax.grad(jax.grad(lambda x: lib.product(x, lib.product(x, x)))))
    np.testing.assert_allclose(third(1.5), 6)


def test_linearize_and_transpose(lib: OpLibrary) -> None:
    x, t = jnp.asarray(real(3)), jnp.asarray(real(3, seed=1))
    value, push = jax.linearize(lib.exponential, x)
    np.testing.assert_allclose(push(t), jnp.exp(x) * t)
    (pulled,) = jax.linear_transpose(push, x)(t)
    np.testing.assert_allclose(pulled, value * t)


def test_tangents_of_both_arguments_add_up(lib: OpLibrary) -> None:
    x, y, dx, dy = real(4, 3)
    _, tangent = jax.jvp(lib.product, (x, y), (dx, dy))
    np.testing.assert_allclose(tangent, dx * y + x * dy)


def test_the_gradient_of_a_real_argument_is_real(lib: OpLibrary) -> None:
    x = jnp.asarray(real(3))
    gradient = jax.grad(lambda a: jnp.abs(lib.product(a + 0j, jnp.asarray(complex_(3)))).sum())(x)
    assert gradient.dtype == x.dtype


def test_gradients_have_the_type_of_their_argument(lib: OpLibrary) -> None:
    x, y = jnp.ones(3, jnp.float32), jnp.ones(3, jnp.float64)
    gradients = jax.grad(lambda a, b: lib.broadcast_add(a, b).sum(), (0, 1))(x, y)
    assert [gradient.dtype for gradient in gradients] == [jnp.float32, jnp.float64]


def test_integers_have_no_gradient(lib: OpLibrary) -> None:
    with pytest.raises(TypeError, match="grad requires real"):
        jax.grad(lambda x: lib.identity(x).sum())(jnp.arange(3))
    value = jax.grad(lambda x: lib.largest(jax.lax.stop_gradient(x))[1].sum() * x.sum())(jnp.ones((2, 3)))
    np.testing.assert_array_equal(value, np.zeros((2, 3)))


def missing(name: str) -> str:
    return rf"obtest::{name} has no derivative for '\w+'; add one to its `derivatives`, or stop the gradient"


@pytest.mark.parametrize("name", ["opaque", "half_known"])
@pytest.mark.parametrize("mode", [jax.jacrev, jax.jacfwd])
def test_a_missing_derivative_is_an_error_and_never_zero(lib: OpLibrary, name: str, mode: Any) -> None:
    x, y = real(3), real(3)
    with pytest.raises(UnsupportedError, match=missing(name)):
        mode(lambda b: lib[name].jax(x, b))(y)


def test_a_derivative_that_nobody_asks_for_may_be_missing(lib: OpLibrary) -> None:
    x, y = real(3), real(3)
    np.testing.assert_allclose(jax.grad(lambda a: lib.half_known(a, y).sum())(x), y)
    stopped = jax.grad(lambda a: (jax.lax.stop_gradient(lib.opaque(a, a)) * a).sum())(x)
    np.testing.assert_allclose(stopped, x * x)


def test_a_backward_kernel_without_derivative_ends_the_chain_with_an_error(lib: OpLibrary) -> None:
    x = real(3)
    np.testing.assert_allclose(jax.grad(lambda a: lib.square(a).sum())(x), 2 * x)
    for further in (jax.hessian(lambda a: lib.square(a).sum()), lambda a: jax.jvp(lib.square, (a,), (a,))):
        with pytest.raises(UnsupportedError, match=missing("square_backward")):
            further(x)


def test_outputs_without_gradient_count_as_zero(lib: OpLibrary) -> None:
    x = real(3)
    gradient = jax.grad(lambda a: lib.sine_cosine(a)[0].sum())(x)
    np.testing.assert_allclose(gradient, np.cos(x))


def test_only_what_the_formulas_read_is_kept(lib: OpLibrary) -> None:
    def kept(function: Any, *inputs: Any) -> list[tuple[int, ...]]:
        _, pull = jax.vjp(function, *inputs)
        return [leaf.shape for leaf in jax.tree.leaves(pull) if hasattr(leaf, "shape")]

    x, y = real(3), real(3)
    assert kept(lib.scaled_add.jax, x, y) == []
    assert kept(lib.exponential.jax, x) == [(3,)]
    assert kept(lib.product.jax, x, y) == [(3,), (3,)]
