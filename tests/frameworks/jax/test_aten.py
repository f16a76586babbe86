"""PyTorch's own operators in JAX: the same values, gradients by PyTorch's autograd."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export
from jax.test_util import check_grads
from subprocesses import succeed

import opbridge as ob
from opbridge.base.errors import CallError, UnsupportedError

torch = pytest.importorskip("torch")

X = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)
INDEX = np.array([[0, 1, 1], [1, 0, 0]])


@pytest.fixture
def x64() -> Iterator[None]:
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


CALLS: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "pointwise": ("leaky_relu", (X, 0.1), {}),
    "an overload by its arguments": ("add", (X, 2), {"alpha": 3}),
    "an overload by its name": ("add.Tensor", (X, X), {}),
    "a reduction": ("sum", (X,), {}),
    "along a dimension": ("softmax.int", (X, -1), {}),
    "several outputs": ("topk", (X, 2), {"largest": False}),
    "a list of outputs": ("split.Tensor", (X, 1), {}),
    "a list of inputs": ("cat", ([X, X], 1), {}),
    "an optional input": ("layer_norm", (X, [3], X[0], None), {}),
    "a dtype": ("to.dtype", (X,), {"dtype": np.float16}),
    "integers out": ("argmax", (X, 1), {}),
    "a view": ("transpose.int", (X, 0, 1), {}),
    "in place": ("relu_", (X,), {}),
    "a complex number": ("mul.Scalar", (X, 2 + 1j), {}),
    "infinity": ("clamp", (X, -float("inf"), 0.5), {}),
    "a number without a fraction": ("pow.Tensor_Scalar", (X, 2), {}),
    "nothing but numbers": ("arange", (5,), {}),
    "a shape from values": ("nonzero", (X > 0,), {}),
}


def in_torch(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value.copy())
    if isinstance(value, list):
        return [in_torch(item) for item in value]
    return getattr(torch, np.dtype(value).name) if isinstance(value, type) else value


def in_jax(value: Any) -> Any:
    return jax.tree.map(lambda item: jnp.asarray(item) if isinstance(item, np.ndarray) else item, value)


@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS.values(), ids=CALLS.keys())
@pytest.mark.usefixtures("x64")
def test_values_are_pytorchs(name: str, args: Any, kwargs: Any) -> None:
    op = ob.aten(name)
    expected = op.torch(*map(in_torch, args), **{key: in_torch(value) for key, value in kwargs.items()})
    got = op.jax(*map(in_jax, args), **kwargs)
    for mine, theirs in zip(jax.tree.leaves(got), jax.tree.leaves(jax.tree.map(np.asarray, expected)), strict=True):
        np.testing.assert_array_equal(np.asarray(mine), theirs, strict=True)


@pytest.mark.parametrize("name", ["pointwise", "several outputs", "a list of outputs", "a list of inputs", "in place"])
def test_the_same_inside_of_jit(name: str) -> None:
    name, args, kwargs = CALLS[name]
    op = ob.aten(name)
    tensors, structure = jax.tree.flatten(in_jax(args))
    arrays = [leaf for leaf in tensors if isinstance(leaf, jax.Array)]

    @jax.jit
    def run(arrays: list[Any]) -> Any:
        rest = iter(arrays)
        return op(*jax.tree.unflatten(structure, [next(rest) if isinstance(t, jax.Array) else t for t in tensors]))

    if not kwargs:
        jax.tree.map(np.testing.assert_array_equal, run(arrays), op(*in_jax(args)))


GRADIENTS: dict[str, tuple[str, Callable[[Any], Callable[..., Any]], tuple[Any, ...]]] = {
    "pointwise": ("gelu", lambda op: op, (X,)),
    "two inputs": ("matmul", lambda op: op, (X, X.T)),
    "a broadcast": ("mul", lambda op: op, (X, X[0])),
    "along a dimension": ("softmax.int", lambda op: lambda x: op(x, -1), (X,)),
    "one of two outputs": ("max.dim", lambda op: lambda x: op(x, 1)[0], (X,)),
    "a list": ("cat", lambda op: lambda x, y: op([x, y], 1), (X, X)),
    "complex": ("mul", lambda op: op, (X + 1j * X, X - 2j)),
    "an integer among its inputs": ("gather", lambda op: lambda x: op(x, 1, jnp.asarray(INDEX)), (X,)),
    "three inputs": ("layer_norm", lambda op: lambda x, w, b: op(x, [3], w, b), (X, X[0], X[1])),
}


@pytest.mark.parametrize(("name", "function", "inputs"), GRADIENTS.values(), ids=GRADIENTS.keys())
@pytest.mark.usefixtures("x64")
def test_gradients_in_both_modes_and_again(name: str, function: Any, inputs: Any) -> None:
    run = function(ob.aten(name).jax)
    wide = [jnp.asarray(x, jnp.complex128 if np.iscomplexobj(x) else jnp.float64) for x in inputs]

    def gradient(*values: Any) -> Any:
        outputs, pull = jax.vjp(run, *values)
        return pull(outputs)

    for differentiated in (run, gradient):
        check_grads(jax.jit(differentiated), wide, order=1, modes=("fwd", "rev"))


def test_pointwise_operators_run_a_batch_at_once() -> None:
    mul = ob.aten("mul").jax
    batched = jax.vmap(jax.grad(lambda x, y: mul(x, y).sum(), argnums=(0, 1)), (0, None))
    of_x, of_y = batched(jnp.asarray(X), jnp.ones(3))
    np.testing.assert_array_equal(of_x, np.ones((2, 3)))
    np.testing.assert_array_equal(of_y, X)
    text = jax.jit(jax.vmap(mul, (0, None))).lower(jnp.asarray(X), jnp.ones(3)).as_text()
    assert "while" not in text
    np.testing.assert_allclose(jax.vmap(lambda x: ob.aten("softmax.int").jax(x, -1))(X), jax.nn.softmax(X), rtol=1e-6)


def test_a_formula_may_call_an_operator_of_pytorchs() -> None:
    source = """
#include <opbridge/kernel.h>
void cube(ob::In<float> x, ob::Out<float> out) {
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i] * x[i] * x[i];
}
OB_KERNEL(cube)
"""
    formula = "grad * 3 * aten::square(x)"
    op = ob.inline(source, schema="jaxaten::cube(Tensor x) -> Tensor", out="x", derivatives={"x": formula})
    np.testing.assert_allclose(jax.grad(lambda x: op(x).sum())(jnp.asarray(X)), 3 * X**2, rtol=1e-6)
    np.testing.assert_allclose(jax.grad(jax.grad(lambda x: op.jax(x[None])[0]))(2.0), 12, rtol=1e-6)


def test_random_operators_are_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"aten::rand_like: it draws from PyTorch's generator.*jax.random"):
        ob.aten("rand_like")(jnp.ones(3))


def test_what_has_nothing_to_drop_draws_nothing() -> None:
    heads = jnp.asarray(np.random.randn(2, 3, 5, 4).astype(np.float32))
    attention = ob.aten("scaled_dot_product_attention")
    expected = torch.nn.functional.scaled_dot_product_attention(*[torch.tensor(np.asarray(heads))] * 3)
    np.testing.assert_allclose(jax.jit(attention.jax)(heads, heads, heads), expected, atol=1e-6)
    gradient = jax.grad(lambda x: attention(x, heads, heads, dropout_p=0.0).sum())(heads)
    assert gradient.shape == heads.shape
    lstm = torch.nn.LSTM(4, 6)
    inputs, state = torch.randn(7, 2, 4), torch.zeros(1, 2, 6)
    weights = [jnp.asarray(value.detach().numpy()) for value in lstm.parameters()]
    call = functools.partial(ob.aten("lstm.input").jax, inputs.numpy(), [state.numpy()] * 2, weights, True, 1)
    np.testing.assert_allclose(call(0.0, True, False, False)[0], lstm(inputs)[0].detach(), atol=1e-6)
    np.testing.assert_array_equal(ob.aten("dropout").jax(X, 0.5, False), X)
    for random in (lambda: attention(heads, heads, heads, None, 0.5), lambda: ob.aten("dropout").jax(X, 0.5, True)):
        with pytest.raises(UnsupportedError, match="it draws from PyTorch's generator"):
            random()


def test_what_depends_on_values_is_refused_where_they_are_not_known() -> None:
    with pytest.raises(UnsupportedError, match=r"aten::nonzero: what it returns depends on the values of its tensors"):
        jax.jit(ob.aten("nonzero").jax)(jnp.ones(3))
    assert ob.aten("index.Tensor")(jnp.arange(4), [jnp.array([True, False, True, False])]).tolist() == [0, 2]
    assert jax.jit(ob.aten("index.Tensor").jax)(jnp.arange(4), [jnp.array([3, 0])]).tolist() == [3, 0]


def test_wrong_arguments_are_named() -> None:
    x = jnp.asarray(X)
    with pytest.raises(CallError, match=r"aten::matmul: .*reduction dim"):
        ob.aten("matmul")(x, x)
    with pytest.raises(CallError, match=r"(?s)aten::leaky_relu: .*'negative_slope': expected Scalar, got str"):
        ob.aten("leaky_relu")(x, "a")
    with pytest.raises(CallError, match=r"aten::add: expected a jax.Array, got a torch.Tensor; .* one framework"):
        ob.aten("add")(x, torch.ones(3))
    with pytest.raises(UnsupportedError, match=r"aten::to.dtype: its output is float64.*jax_enable_x64"):
        ob.aten("to.dtype")(x, jnp.float64)
    with pytest.raises(UnsupportedError, match=r"aten::relu: PyTorch does not tell .* symbolic sizes"):
        export.export(jax.jit(ob.aten("relu").jax))(*export.symbolic_args_specs((x,), "a, b"))


def test_an_exported_program_needs_no_library(tmp_path: Path) -> None:
    program = jax.jit(jax.grad(lambda x: ob.aten("gelu").jax(x).sum()))
    checks = [export.DisabledSafetyCheck.custom_call("opbridge")]
    (tmp_path / "program").write_bytes(export.export(program, disabled_checks=checks)(X).serialize())
    code = """
import sys, jax, numpy as np, opbridge as ob
from jax import export
ob.aten("relu").jax
program = export.deserialize(bytearray(open(sys.argv[1], "rb").read()))
print(program.call(np.zeros((2, 3), np.float32)).tolist())
"""
    assert succeed(code, str(tmp_path / "program")) == "[[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]\n"


def test_a_gradient_does_not_run_the_operator_again() -> None:
    runs: list[str] = []
    with torch.library._scoped_library("counted_in_jax", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: runs.append("cpu") or 2 * x, "CPU")
        torch.library.register_fake("counted_in_jax::twice", torch.empty_like, lib=library)
        torch.library.register_autograd("counted_in_jax::twice", lambda ctx, grad: 2 * grad, lib=library)
        twice = ob.aten("counted_in_jax::twice").jax
        grad = jax.jit(jax.grad(lambda x: twice(x).sum()))
        for _ in range(4):
            np.testing.assert_array_equal(grad(X), np.full_like(X, 2))
    assert len(runs) <= 5  # once each forward, and once to see what the gradient needs
