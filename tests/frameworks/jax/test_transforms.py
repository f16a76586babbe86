"""vmap, control flow, checkpoints and devices in JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from opbridge.frameworks.jax.batching import BatchWarning
from opbridge.waist.op import OpLibrary


def numbers(*shape: int) -> Any:
    return jnp.asarray(np.random.default_rng(len(shape)).standard_normal(shape), jnp.float32)


def calls_in(function: Callable[..., Any], *args: Any) -> tuple[int, bool]:
    """How many kernel calls a program has, and whether it loops."""
    text = jax.jit(function).lower(*args).as_text()
    return text.count("@opbridge("), "stablehlo.while" in text


AT_ONCE: dict[str, tuple[str, tuple[Any, ...], Any]] = {
    "elementwise": ("product", (numbers(2, 3), numbers(2, 3)), 0),
    "one that is the same for all": ("product", (numbers(2, 3), numbers(3)), (0, None)),
    "another dimension": ("product", (numbers(3, 2), numbers(3, 2)), 1),
    "two different dimensions": ("product", (numbers(2, 3), numbers(3, 2)), (0, 1)),
    "an elementwise broadcast": ("broadcast_add", (numbers(5, 4, 1, 3), numbers(5, 2, 1)), 0),
    "a broadcast with the same for all": ("broadcast_add", (numbers(5, 4, 3), numbers(3)), (0, None)),
    "a broadcast of a batch of scalars": ("broadcast_add", (numbers(4, 3), numbers(5)), (None, 0)),
    "a pattern": ("scale_columns", (numbers(2, 4, 3), numbers(3)), (0, None)),
    "in place": ("square_", (numbers(2, 3),), 0),
    "an absent tensor": ("add_bias", (numbers(2, 4, 3),), 0),
}


@pytest.mark.parametrize(("name", "inputs", "axes"), AT_ONCE.values(), ids=AT_ONCE.keys())
def test_a_batch_rule_makes_one_call_of_a_batch(lib: OpLibrary, name: str, inputs: Any, axes: Any) -> None:
    function = lib[name].jax
    batched = jax.vmap(function, in_axes=axes)
    assert calls_in(batched, *inputs) == (1, False)
    placed = axes if isinstance(axes, tuple) else (axes,) * len(inputs)
    size = next(value.shape[axis] for value, axis in zip(inputs, placed, strict=True) if axis is not None)
    slices = [
        function(*(v if axis is None else jnp.take(v, k, axis) for v, axis in zip(inputs, placed, strict=True)))
        for k in range(size)
    ]
    np.testing.assert_allclose(batched(*inputs), np.stack(slices))


def test_an_elementwise_operator_costs_nothing_more(lib: OpLibrary) -> None:
    x = numbers(3, 2)
    text = jax.jit(jax.vmap(lib.product.jax, 1, 1)).lower(x, x).as_text()
    assert "transpose" not in text
    assert "broadcast" not in text


def test_without_a_rule_slices_run_one_by_one_and_a_warning_says_so(lib: OpLibrary) -> None:
    x = numbers(5, 2, 3)
    with pytest.warns(BatchWarning, match="obtest::row_sums has no `batch` rule .* once for each of the 5 slices"):
        result = jax.vmap(lib.row_sums.jax)(x)
    np.testing.assert_allclose(result, x.sum(2), rtol=1e-5)
    with pytest.warns(BatchWarning):
        assert calls_in(jax.vmap(lib.row_sums.jax), x) == (1, True)


def test_a_pattern_that_does_not_cover_a_call_loops_in_silence(lib: OpLibrary) -> None:
    x, weights = numbers(2, 4, 3), numbers(2, 3)
    assert calls_in(jax.vmap(lib.scale_columns.jax), x, weights) == (1, True)
    np.testing.assert_allclose(jax.vmap(lib.scale_columns.jax)(x, weights), x * weights[:, None])


def test_a_batch_of_nothing(lib: OpLibrary) -> None:
    assert jax.vmap(lib.product.jax)(jnp.ones((0, 3)), jnp.ones((0, 3))).shape == (0, 3)
    with pytest.warns(BatchWarning):
        assert jax.vmap(lib.row_sums.jax)(jnp.ones((0, 2, 3))).shape == (0, 2)


def test_batches_of_batches_and_of_gradients(lib: OpLibrary) -> None:
    x, y = numbers(4, 5, 3), numbers(4, 3)
    np.testing.assert_allclose(jax.vmap(jax.vmap(lib.product.jax, (0, None)))(x, y), x * y[:, None], rtol=1e-6)
    each = jax.vmap(jax.grad(lambda a, b: lib.product(a, lib.product(a, b)).sum(), argnums=(0, 1)), (0, None))
    of_x, of_y = each(y, y[0])
    np.testing.assert_allclose(of_x, 2 * y * y[0], rtol=1e-5)
    np.testing.assert_allclose(of_y, y * y, rtol=1e-5)


def test_gradients_of_batches_of_gradients(lib: OpLibrary) -> None:
    def penalty(weight: Any, xs: Any) -> Any:
        slopes = jax.vmap(jax.grad(lambda x: lib.exponential(lib.product(x, weight)).sum()))(xs)
        return (slopes**2).sum()

    def expected(weight: Any, xs: Any) -> Any:
        return ((weight * jnp.exp(xs * weight)) ** 2).sum()

    weight, xs = numbers(3), numbers(4, 3)
    np.testing.assert_allclose(jax.grad(penalty)(weight, xs), jax.grad(expected)(weight, xs), rtol=1e-4)


def test_scan_while_and_cond(lib: OpLibrary) -> None:
    x, start = numbers(4, 3), jnp.ones(3)

    def run(first: Any) -> Any:
        return jax.lax.scan(lambda carry, row: (lib.product(carry, row), carry), first, x)[0].sum()

    np.testing.assert_allclose(run(start), np.prod(x, 0).sum(), rtol=1e-5)
    np.testing.assert_allclose(jax.jit(jax.grad(run))(start), np.prod(x, 0), rtol=1e-5)
    doubled = jax.lax.while_loop(lambda c: c.sum() < 100, lambda c: lib.scaled_add(c, c), start)
    np.testing.assert_array_equal(doubled, np.full(3, 64))
    for which, expected in ((True, jnp.exp(start)), (False, start * start)):
        chosen = jax.lax.cond(which, lib.exponential.jax, lib.square.jax, start)
        np.testing.assert_allclose(chosen, expected, rtol=1e-6)


def test_checkpoints_compute_again(lib: OpLibrary) -> None:
    def block(x: Any) -> Any:
        return lib.exponential(lib.product(x, x)).sum()

    x = numbers(3)
    plain, again = jax.value_and_grad(block), jax.value_and_grad(jax.checkpoint(block))
    np.testing.assert_allclose(again(x)[1], plain(x)[1], rtol=1e-6)
    assert calls_in(again, x)[0] > calls_in(plain, x)[0]


def test_without_jit(lib: OpLibrary) -> None:
    x = numbers(3)
    with jax.disable_jit():
        np.testing.assert_allclose(jax.grad(lambda a: lib.exponential(a).sum())(x), np.exp(x), rtol=1e-6)
        np.testing.assert_allclose(jax.vmap(lib.product.jax)(x, x), x * x, rtol=1e-6)


def test_shapes_without_values(lib: OpLibrary) -> None:
    x = jax.ShapeDtypeStruct((2, 3), jnp.float32)
    assert jax.eval_shape(lib.matrix_product.jax, x, jax.ShapeDtypeStruct((3, 4), jnp.float32)).shape == (2, 4)


def test_threads_call_at_once(lib: OpLibrary) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def work(number: int) -> bool:
        x = jnp.full(100, float(number))
        results = [lib.scaled_add(x, x, alpha=float(number % 7)) for _ in range(20)]
        return all(bool((result == number * (1 + number % 7)).all()) for result in results)

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(work, range(16)))
