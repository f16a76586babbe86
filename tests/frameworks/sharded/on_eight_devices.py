"""Operators in JAX programs over eight devices.  Run by test_jax_sharding.py, in a process that has them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import opbridge as ob
from opbridge.base.errors import CallError, RuleError, UnsupportedError
from opbridge.waist.op import OpLibrary
from opbridge.waist.rules.sharding import ShardingWarning

if hasattr(jax, "shard_map"):
    from jax import shard_map
else:
    from jax.experimental.shard_map import shard_map

Function = Callable[..., Any]
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(8, 16)).astype(np.float32)
Y = RANDOM.normal(size=(8, 16)).astype(np.float32)
W = RANDOM.normal(size=(16, 12)).astype(np.float32)
G = RANDOM.normal(size=16).astype(np.float32)
NONE: Counter[str] = Counter()


@pytest.fixture(scope="session")
def lib() -> OpLibrary:
    library: OpLibrary = ob.load(Path(__file__).parent / "ops.yaml")
    return library


@pytest.fixture(scope="session")
def mesh() -> Mesh:
    return Mesh(np.array(jax.devices()).reshape(4, 2), ("a", "b"))


@pytest.fixture(scope="session")
def put(mesh: Mesh) -> Function:
    """An array, divided over the mesh."""
    return lambda value, *spec: jax.device_put(value, NamedSharding(mesh, P(*spec)))


def collectives(function: Function, *args: Any, **options: Any) -> Counter[str]:
    """How the compiled program communicates."""
    text = jax.jit(function, **options).lower(*args).compile().as_text()
    pattern = r" (all-gather|all-reduce|reduce-scatter|all-to-all|collective-permute)(?:-start)?\("
    return Counter(re.findall(pattern, text))


def spec(value: Any) -> tuple[Any, ...]:
    """How an array lies, a name or None for each of its dimensions."""
    named = value.sharding.spec
    return (*named, *(None,) * (value.ndim - len(named)))


def test_elementwise_stays_where_its_inputs_are(lib: OpLibrary, put: Function) -> None:
    x, y = put(X, "a", "b"), put(Y, "a", "b")
    out = jax.jit(lib.scaled_mul.jax, static_argnames="alpha")(x, y, alpha=2.0)
    np.testing.assert_allclose(out, 2 * X * Y, rtol=1e-6)
    assert spec(out) == ("a", "b")
    assert collectives(lib.scaled_mul.jax, x, y) == NONE
    assert spec(lib.scaled_mul(x, y)) == ("a", "b")  # outside of jit too


def test_so_do_its_gradients_and_batches(lib: OpLibrary, put: Function) -> None:
    x, y = put(X, "a", "b"), put(Y, "a", "b")
    gradients = jax.grad(lambda x, y: (lib.scaled_mul.jax(x, y) ** 2).sum(), argnums=(0, 1))
    np.testing.assert_allclose(jax.jit(gradients)(x, y)[0], 2 * X * Y * Y, rtol=1e-5)
    assert collectives(gradients, x, y) == NONE
    assert collectives(jax.vmap(lib.scaled_mul.jax), x, y) == NONE


def test_an_input_that_lies_otherwise_is_moved(lib: OpLibrary, put: Function) -> None:
    x, y = put(X, "a", "b"), put(Y)
    assert collectives(lib.scaled_mul.jax, x, y) == NONE  # a part of what is everywhere
    out = jax.jit(lib.scaled_mul.jax)(x, put(Y, "b", "a"))
    np.testing.assert_allclose(out, X * Y, rtol=1e-6)


@pytest.mark.parametrize(
    ("x", "w", "out", "expected"),
    [
        (("a", None), (None, "b"), ("a", "b"), NONE),
        ((("a", "b"), None), (None, None), (("a", "b"), None), NONE),
        (("a", "b"), ("b", None), ("a", None), Counter({"all-reduce": 1})),
        ((None, "a"), ("a", None), (None, None), Counter({"all-reduce": 1})),
    ],
)
def test_a_product_sums_over_what_is_divided_inside(
    lib: OpLibrary, put: Function, x: Any, w: Any, out: Any, expected: Counter[str]
) -> None:
    left, right = put(X, *x), put(W, *w)
    got = jax.jit(lib.product.jax)(left, right)
    np.testing.assert_allclose(got, X @ W, rtol=1e-4, atol=1e-5)
    assert spec(got) == out
    assert collectives(lib.product.jax, left, right) == expected


def test_the_gradients_of_a_product_are_products(lib: OpLibrary, put: Function) -> None:
    left, right = put(X, "a", None), put(W, None, "b")
    gradients = jax.grad(lambda x, w: (lib.product.jax(x, w) ** 2).sum(), argnums=(0, 1))
    np.testing.assert_allclose(jax.jit(gradients)(left, right)[1], X.T @ (2 * X @ W), rtol=1e-3, atol=1e-3)
    assert collectives(gradients, left, right) == Counter({"all-reduce": 2})


def test_a_maximum_of_maxima(lib: OpLibrary, put: Function) -> None:
    x = put(X, "a", "b")
    np.testing.assert_array_equal(jax.jit(lib.largest.jax)(x), X.max(1))
    assert collectives(lib.largest.jax, x) == Counter({"all-reduce": 1})


def test_a_norm_and_its_backward_kernel(lib: OpLibrary, put: Function) -> None:
    x, weight = put(X.reshape(4, 2, 16), "a", "b", None), put(G)

    def loss(x: Any, weight: Any) -> Any:
        return (lib.norm.jax(x, weight)[0] ** 2).sum()

    assert collectives(lambda x, w: lib.norm.jax(x, w)[0], x, weight) == NONE
    got = jax.jit(jax.grad(loss, argnums=(0, 1)))(x, weight)
    alone = jax.grad(loss, argnums=(0, 1))(jnp.asarray(X.reshape(4, 2, 16)), jnp.asarray(G))
    for one, other in zip(got, alone, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    assert spec(got[0]) == ("a", "b", None)
    # The gradient of the weight is a sum over all rows, wherever they are.
    reduced = collectives(jax.grad(loss, argnums=(0, 1)), x, weight)
    assert set(reduced) == {"all-reduce"}


def test_a_whole_dimension_is_gathered_where_it_is_divided(lib: OpLibrary, put: Function) -> None:
    x = put(X, "a", "b")
    out = jax.jit(lambda x: lib.norm.jax(x)[0])(x)
    np.testing.assert_allclose(out, X / np.sqrt((X**2).mean(1, keepdims=True) + 1e-6), rtol=1e-5)
    assert collectives(lambda x: lib.norm.jax(x)[0], x) == Counter({"all-gather": 1})


def test_keywords_lists_and_what_is_written_to(lib: OpLibrary, put: Function) -> None:
    x, y = put(X, "a", "b"), put(Y, "a", "b")
    assert collectives(lambda x, y: lib.add_by_name.jax(x, other=y), x, y) == NONE
    assert collectives(lambda x, y: lib.total.jax([x, y, x]), x, y) == NONE
    rows = put(X, "a", None)
    assert collectives(lib.scale_rows_.jax, rows, put(Y[:, 0], "a"), donate_argnums=0) == NONE
    np.testing.assert_allclose(jax.jit(lib.scale_rows_.jax)(rows, put(Y[:, 0])), X * Y[:, :1], rtol=1e-6)


def test_parts_of_unequal_size_are_not_made(lib: OpLibrary, put: Function) -> None:
    seven = jax.jit(lambda x, w: lib.product.jax(x[:, :7], w[:7]))
    np.testing.assert_allclose(seven(put(X, "a", "b"), put(W)), X[:, :7] @ W[:7], rtol=1e-4, atol=1e-5)


def test_inside_of_shard_map_each_device_runs_its_part(lib: OpLibrary, put: Function, mesh: Mesh) -> None:
    def part(x: Any, w: Any) -> Any:
        return jax.lax.psum(lib.product.jax(x, w), "b")

    divided = shard_map(part, mesh=mesh, in_specs=(P("a", "b"), P("b", None)), out_specs=P("a", None))
    left, right = put(X, "a", "b"), put(W, "b", None)
    np.testing.assert_allclose(jax.jit(divided)(left, right), X @ W, rtol=1e-4, atol=1e-5)
    assert collectives(divided, left, right) == Counter({"all-reduce": 1})


@pytest.mark.skipif(
    not hasattr(jax, "shard_map"), reason="this JAX has no shard_map over some axes that its types know of"
)
def test_inside_of_shard_map_over_some_axes_nothing_is_divided_over_the_others(
    lib: OpLibrary, put: Function, mesh: Mesh
) -> None:
    specs: Any = {"in_specs": (P("a"), P("a")), "out_specs": P("a")}
    some = jax.jit(shard_map(lib.scaled_mul.jax, mesh=mesh, axis_names={"a"}, **specs))
    if jax.config.jax_use_shardy_partitioner:
        np.testing.assert_allclose(some(put(X, "a", "b"), put(Y, "a", "b")), X * Y, rtol=1e-6)
    else:
        with pytest.raises(UnsupportedError, match="shard_map leaves the axes b of its mesh to GSPMD"):
            some(put(X, "a", "b"), put(Y, "a", "b"))


@pytest.fixture(scope="session")
def typed() -> Function:
    """An array on a mesh whose axes are part of JAX's types."""
    explicit = jax.make_mesh((4, 2), ("a", "b"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)
    return lambda value, *spec: jax.device_put(value, NamedSharding(explicit, P(*spec)))


def test_types_say_how_outputs_and_their_derivatives_lie(lib: OpLibrary, typed: Function) -> None:
    x, y = typed(X, "a", "b"), typed(Y, "a", "b")

    def both(x: Any, y: Any) -> Any:
        out, tangent = jax.jvp(lib.scaled_mul.jax, (x, y), (x, y))
        assert jax.typeof(out).sharding.spec == jax.typeof(tangent).sharding.spec == P("a", "b")
        return out, tangent

    np.testing.assert_allclose(jax.jit(both)(x, y)[1], 2 * X * Y, rtol=1e-6)
    assert collectives(both, x, y) == NONE
    gradient = jax.grad(lambda x, y: lib.scaled_mul.jax(x, y).sum())
    assert spec(jax.jit(gradient)(x, y)) == ("a", "b")


def test_typed_gradients_of_a_product(lib: OpLibrary, typed: Function) -> None:
    left, right = typed(X, "a", None), typed(W, None, "b")
    gradients = jax.jit(jax.grad(lambda x, w: (lib.product.jax(x, w) ** 2).sum(), argnums=(0, 1)))(left, right)
    assert [spec(one) for one in gradients] == [("a", None), (None, "b")]
    np.testing.assert_allclose(gradients[1], X.T @ (2 * X @ W), rtol=1e-3, atol=1e-3)


def test_without_a_rule_every_device_has_the_whole_and_says_so(lib: OpLibrary, put: Function) -> None:
    x, y = put(X, "a", "b"), put(Y, "a", "b")
    with pytest.warns(ShardingWarning, match="nothing says how sharded::unruled may be divided"):
        out = jax.jit(lib.unruled.jax)(x, y)
    np.testing.assert_allclose(out, X * Y, rtol=1e-6)


def test_where_nothing_is_divided_nothing_is_said(lib: OpLibrary, put: Function) -> None:
    np.testing.assert_allclose(jax.jit(lib.unruled.jax)(put(X), put(Y)), X * Y, rtol=1e-6)


def test_a_tensor_that_the_rule_does_not_fit_is_named(put: Function) -> None:
    op = ob.inline(
        "#include <opbridge/kernel.h>\n"
        "void same(ob::In<float> x, ob::Out<float> out) { for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i]; }\n"
        "OB_KERNEL(same)\n",
        schema="eight::same(Tensor x) -> Tensor",
        out="x",
        shard="b s h -> b s h",
    )
    with pytest.raises(CallError, match=r"eight::same: argument 'x' has 2 dimensions, \[8, 16\]"):
        jax.jit(op.jax)(put(X, "a", "b"))


def test_a_rule_that_is_at_odds_with_the_shape_is_refused(put: Function) -> None:
    op = ob.inline(
        "#include <opbridge/kernel.h>\n"
        "void counts(ob::In<float> x, ob::Out<float> out) { for (int64_t i = 0; i < 8; ++i) out[i] = 0; }\n"
        "OB_KERNEL(counts)\n",
        schema="eight::counts(Tensor x) -> Tensor",
        out={"shape": "[8]", "dtype": "float32"},
        shard="b _ -> b",
    )
    with pytest.raises(RuleError, match=r"eight::counts: its `shard` rule divides output 0 along 'b'"):
        jax.jit(op.jax)(put(X, "a", None))


def test_pytorchs_pointwise_operators_are_divided_like_elementwise_ones(put: Function) -> None:
    pytest.importorskip("torch")
    gelu = ob.aten("gelu").jax
    assert collectives(gelu, put(X, "a", "b")) == NONE


def test_a_program_says_which_call_it_divides(lib: OpLibrary, put: Function) -> None:
    """JAX's compilation cache tells programs apart by their text."""
    x = put(X, "a", "b")
    for alpha in (2.0, 3.0):
        program = jax.jit(partial(lib.scaled_mul.jax, alpha=alpha)).lower(x, x).as_text()
        assert f"alpha\\22: {alpha}" in program
