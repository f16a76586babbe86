"""Gradients in MindSpore, of any order, in PyNative and in Graph mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import opbridge as ob
from opbridge.base.errors import UnsupportedError
from opbridge.waist.op import OpLibrary

ms = pytest.importorskip("mindspore")
ops, nn = ms.ops, ms.nn

Run = Callable[..., Any]


def real(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).uniform(0.5, 1.5, shape)


# Graph mode reads the source of what it compiles, and takes no lambda from within an expression.


def with_an_attribute(op: Any) -> Any:
    def function(x, y):  # type: ignore[no-untyped-def]
        return op(x, y, alpha=0.3)

    return function


def both_outputs(op: Any) -> Any:
    def function(x):  # type: ignore[no-untyped-def]
        sine, cosine = op(x)
        return sine * 2 + cosine

    return function


def one_output(op: Any) -> Any:
    def function(x):  # type: ignore[no-untyped-def]
        return op(x)[1]

    return function


def without_the_optional(op: Any) -> Any:
    def function(x):  # type: ignore[no-untyped-def]
        return op(x, None)

    return function


def a_list(op: Any) -> Any:
    def function(x, y):  # type: ignore[no-untyped-def]
        return op([x, y, x])

    return function


def twice(op: Any) -> Any:
    def function(x):  # type: ignore[no-untyped-def]
        return op(x, x)

    return function


def plain(op: Any) -> Any:
    def function(*args):  # type: ignore[no-untyped-def]
        return op(*args)

    return function


CASES: dict[str, tuple[str, Callable[[Any], Any], tuple[np.ndarray, ...]]] = {
    "one formula each": ("scaled_add", with_an_attribute, (real(3), real(3))),
    "formulas of arguments": ("product", plain, (real(2, 3), real(2, 3))),
    "a backward kernel": ("fused_product", plain, (real(2, 3), real(2, 3))),
    "a saved result": ("exponential", plain, (real(3),)),
    "several outputs": ("sine_cosine", both_outputs, (real(3),)),
    "one output of several": ("sine_cosine", one_output, (real(3),)),
    "a matrix product": ("matrix_product", plain, (real(2, 3), real(3, 4))),
    "a broadcast": ("broadcast_add", plain, (real(4, 1, 3), real(2, 1))),
    "a broadcast of rank 0": ("broadcast_add", plain, (real(), real(2))),
    "another shape": ("row_sums", plain, (real(2, 3),)),
    "an optional tensor": ("add_bias", plain, (real(2, 3), real(3))),
    "an absent tensor": ("add_bias", without_the_optional, (real(2, 3),)),
    "a list": ("pile", a_list, (real(2), real(2))),
    "the same tensor twice": ("product", twice, (real(3),)),
    "no elements": ("product", plain, (real(0, 2), real(0, 2))),
    "rank 0": ("product", plain, (real(), real())),
}
cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def cubes(function: Callable[..., Any]) -> Callable[..., Any]:
    """A number in which every order of derivative of the function shows."""

    def total(*args):  # type: ignore[no-untyped-def]
        result = function(*args)
        return (result * result * result).sum()

    return total


def gradients(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    # With one position MindSpore returns a gradient, and not a tuple of one.
    return ms.grad(function, tuple(range(count)) if count > 1 else 0)


def squares(gradient: Any) -> Any:
    total = 0.0
    for one in gradient if isinstance(gradient, tuple) else (gradient,):
        total = total + (one * one).sum()
    return total


def slopes(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    first = gradients(function, count)

    def total(*args):  # type: ignore[no-untyped-def]
        return squares(first(*args))

    return total


def pytorchs(function: Callable[..., Any], arrays: tuple[np.ndarray, ...], order: int) -> list[np.ndarray]:
    inputs = [torch.tensor(array, requires_grad=True) for array in arrays]
    found = torch.autograd.grad(cubes(function)(*inputs), inputs, create_graph=order > 1)
    if order > 1:
        found = torch.autograd.grad(sum((one * one).sum() for one in found), inputs)
    return [one.detach().numpy() for one in found]


def check(ours: Any, expected: list[np.ndarray]) -> None:
    for one, wanted in zip(ours if isinstance(ours, tuple) else (ours,), expected, strict=True):
        assert one.shape == wanted.shape
        np.testing.assert_allclose(one.asnumpy(), wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.cases(16)
@cases
def test_first_order_is_pytorchs(lib: OpLibrary, run: Run, case: Any) -> None:
    name, build, arrays = case
    function = cubes(build(lib[name].mindspore))
    ours = run(gradients(function, len(arrays)), *map(ms.Tensor, arrays))
    check(ours, pytorchs(build(lib[name]), arrays, 1))


@cases
def test_second_order_is_pytorchs(lib: OpLibrary, case: Any) -> None:
    name, build, arrays = case
    function = slopes(cubes(build(lib[name].mindspore)), len(arrays))
    ours = gradients(function, len(arrays))(*map(ms.Tensor, arrays))
    check(ours, pytorchs(build(lib[name]), arrays, 2))


def test_second_order_in_a_graph(lib: OpLibrary) -> None:
    arrays = (real(2, 3), real(2, 3))
    function = slopes(cubes(plain(lib.product.mindspore)), 2)
    ours = ms.jit(gradients(function, 2))(*map(ms.Tensor, arrays))
    check(ours, pytorchs(lib.product, arrays, 2))


def test_third_order(lib: OpLibrary) -> None:
    exponential = lib.exponential.mindspore

    def function(x):  # type: ignore[no-untyped-def]
        return exponential(x).sum()

    def derived(previous: Callable[..., Any]) -> Callable[..., Any]:
        def next_one(x):  # type: ignore[no-untyped-def]
            return ms.grad(previous)(x).sum()

        return next_one

    x = ms.Tensor(real(3))
    third = ms.grad(derived(derived(function)))(x)
    np.testing.assert_allclose(third.asnumpy(), np.exp(real(3)))


def test_value_and_gradient(lib: OpLibrary, run: Run) -> None:
    product = lib.product.mindspore

    def function(x, y):  # type: ignore[no-untyped-def]
        return product(x, y).sum()

    x, y = real(3), real(3) + 1
    value, (dx, dy) = run(ms.value_and_grad(function, (0, 1)), ms.Tensor(x), ms.Tensor(y))
    np.testing.assert_allclose(value.asnumpy(), (x * y).sum())
    np.testing.assert_array_equal(dx.asnumpy(), y)
    np.testing.assert_array_equal(dy.asnumpy(), x)


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["PyNative", "Graph"])
def test_the_operator_itself_is_differentiated(lib: OpLibrary, mode: int) -> None:
    ms.set_context(mode=mode)
    try:
        x, y = real(3), real(3) + 1
        dx, dy = ms.grad(lib.product.mindspore, (0, 1))(ms.Tensor(x), ms.Tensor(y))
        np.testing.assert_array_equal(dx.asnumpy(), y)
        np.testing.assert_array_equal(dy.asnumpy(), x)
        np.testing.assert_array_equal(lib.product(ms.Tensor(x), ms.Tensor(y)).asnumpy(), x * y)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_hooks(lib: OpLibrary) -> None:
    cell, seen = lib.nested.mindspore, []
    hook = cell.register_forward_hook(lambda *_: seen.append("after"))
    cell(ms.ops.ones(3), 2)
    hook.remove()
    cell(ms.ops.ones(3), 2)
    assert seen == ["after"]


def test_gradients_take_the_dtype_of_their_argument(lib: OpLibrary, run: Run) -> None:
    broadcast_add = lib.broadcast_add.mindspore

    def function(x, y):  # type: ignore[no-untyped-def]
        return broadcast_add(x, y).sum()

    dx, dy = run(ms.grad(function, (0, 1)), ms.Tensor(real(3)).astype(ms.float32), ms.Tensor(real(3)))
    assert (dx.dtype, dy.dtype) == (ms.float32, ms.float64)


def test_an_operator_without_derivative_says_so(lib: OpLibrary, run: Run) -> None:
    opaque = lib.opaque.mindspore

    def function(x, y):  # type: ignore[no-untyped-def]
        return opaque(x, y).sum()

    x = ms.Tensor(real(3))
    assert run(function, x, x).asnumpy() > 0
    with pytest.raises(UnsupportedError, match="obtest::opaque has no derivative; add `derivatives` or `backward`"):
        run(ms.grad(function), x, x)


def test_a_backward_kernel_without_derivative_ends_the_chain_with_an_error(lib: OpLibrary) -> None:
    square = lib.square.mindspore

    def function(x):  # type: ignore[no-untyped-def]
        return square(x).sum()

    def slope(x):  # type: ignore[no-untyped-def]
        return ms.grad(function)(x).sum()

    x = ms.Tensor(real(3))
    np.testing.assert_array_equal(ms.grad(function)(x).asnumpy(), 2 * real(3))
    with pytest.raises(UnsupportedError, match="obtest::square_backward has no derivative"):
        ms.grad(slope)(x)


def test_a_derivative_that_is_not_given_is_no_zero(lib: OpLibrary, run: Run) -> None:
    half_known = lib.half_known.mindspore

    def function(x, y):  # type: ignore[no-untyped-def]
        return half_known(x, y).sum()

    x, y = real(3), real(3) + 1
    dx, dy = run(ms.grad(function, (0, 1)), ms.Tensor(x), ms.Tensor(y))
    np.testing.assert_array_equal(dx.asnumpy(), y)
    assert np.isnan(dy.asnumpy()).all()


def test_integers_have_no_gradient(lib: OpLibrary, run: Run) -> None:
    identity, count_tensors = lib.identity.mindspore, lib.count_tensors.mindspore

    def function(x, places):  # type: ignore[no-untyped-def]
        return (x * identity(places)).sum() + count_tensors(x)

    dx, dplaces = run(ms.grad(function, (0, 1)), ops.ones(3), ms.Tensor([1, 2, 3]))
    assert dx.asnumpy().tolist() == [1.0, 2.0, 3.0]
    assert dplaces.shape == (3,)


def test_formulas_call_operators_and_array_functions(run: Run) -> None:
    op = ob.inline(
        "#include <opbridge/kernel.h>\n#include <cmath>\n"
        "void softplus(ob::In<double> x, ob::Out<double> out, double beta) {\n"
        "  for (int64_t i = 0; i < x.numel(); ++i) out[i] = std::log1p(std::exp(beta * x[i])) / beta;\n"
        "}\nOB_KERNEL(softplus)\n",
        schema="ms_formulas::softplus(Tensor x, *, float beta=1.0) -> Tensor",
        out="x",
        derivatives={"x": "where(x > 100, grad, grad * sigmoid(beta * x)) if beta > 0 else grad"},
    )
    softplus = op.mindspore

    def function(x):  # type: ignore[no-untyped-def]
        return softplus(x, beta=2.0).sum()

    x = real(4)
    np.testing.assert_allclose(run(ms.grad(function), ms.Tensor(x)).asnumpy(), 1 / (1 + np.exp(-2 * x)))


class Scale(nn.Cell):  # type: ignore[misc,name-defined]
    def __init__(self, operator: Any) -> None:
        super().__init__()
        self.scale_columns = operator
        self.weight = ms.Parameter(ops.ones(3), name="weight")

    def construct(self, x: Any) -> Any:
        return self.scale_columns(x, self.weight)


@pytest.mark.cases(1)
@pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE], ids=["Graph", "PyNative"])
def test_parameters_train(lib: OpLibrary, mode: int) -> None:
    ms.set_context(mode=mode)
    try:
        model = Scale(lib.scale_columns.mindspore)
        with_loss = nn.WithLossCell(model, nn.MSELoss())
        train = nn.TrainOneStepCell(with_loss, nn.SGD(model.trainable_params(), learning_rate=0.3))
        x = np.random.default_rng(0).standard_normal((16, 3)).astype(np.float32)
        wanted = np.array([2.0, -1.0, 0.5], np.float32)
        for _ in range(100):
            train(ms.Tensor(x), ms.Tensor(x * wanted))
        np.testing.assert_allclose(model.weight.asnumpy(), wanted, atol=0.05)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
