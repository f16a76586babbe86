"""Operators on Paddle's tensors: values, gradients of any order, and errors.  Run by `make paddle`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import pytest

import opbridge as ob
from opbridge.base.errors import CallError, KernelError, OpbridgeError, UnsupportedError
from opbridge.frameworks import FRAMEWORKS, framework_of
from opbridge.frameworks.numpy.adapter import FUNCTIONS as NUMPY_FUNCTIONS
from opbridge.frameworks.paddle.formula_functions import DTYPES, FUNCTIONS
from opbridge.verify.check import Status, check
from opbridge.waist.op import OpLibrary
from opbridge.waist.rules import ARRAY_FUNCTIONS

Tensor = Any


def real(*shape: int, seed: int = 0) -> Tensor:
    return paddle.to_tensor(np.random.default_rng(seed).standard_normal(shape))


def complex_(*shape: int) -> Tensor:
    return paddle.complex(real(*shape), real(*shape, seed=1))


def same(got: Tensor, expected: Any) -> None:
    np.testing.assert_array_equal(got.numpy(), np.asarray(expected), strict=True)


def test_tensors_and_parameters_are_paddles() -> None:
    assert framework_of(type(real(1))) is FRAMEWORKS["paddle"]
    assert framework_of(type(paddle.nn.Linear(1, 1).weight)) is FRAMEWORKS["paddle"]


def test_an_op_called_with_tensors_gives_a_tensor(lib: OpLibrary) -> None:
    x, y = paddle.arange(3, dtype="float32"), paddle.ones([3])
    same(lib.scaled_add(x, y, alpha=2.0), np.float32([2, 3, 4]))
    same(lib.scaled_add.paddle(x, y=y), np.float32([1, 2, 3]))
    assert lib.scaled_add.paddle is lib.scaled_add.paddle


def test_a_static_graph_is_refused_by_its_name(lib: OpLibrary) -> None:
    said = r"cannot be part of a static graph of Paddle's.*\n.*call it outside"
    op, view = lib.product, lib.product.paddle

    def square(x: Tensor) -> Tensor:
        return op(x, x)

    def square_by_view(x: Tensor) -> Tensor:
        return view(x, x)

    for function in (square, square_by_view):
        with pytest.raises(UnsupportedError, match=said):
            paddle.jit.to_static(function, full_graph=True)(real(2))


def test_nothing_is_copied(lib: OpLibrary) -> None:
    x = paddle.ones([4])
    assert lib.square_(x) is x
    lib.scaled_add_(x, paddle.ones([4]), alpha=3.0)
    same(x, np.full(4, 4, np.float32))


@pytest.mark.parametrize("dtype", ["int8", "int64", "float16", "float32", "complex128"])
def test_elements_of_every_type_arrive(lib: OpLibrary, dtype: str) -> None:
    x = paddle.to_tensor([[1, 2], [3, 4]]).astype(dtype)
    if dtype in ("float32", "complex128"):
        same(lib.product(x, x), x.numpy() ** 2)
    else:
        with pytest.raises(OpbridgeError, match="x"):
            lib.product(x, "nonsense")


def test_any_layout_of_memory(lib: OpLibrary) -> None:
    x = real(4, 6)
    for view in (x.T, x[1:3, ::2], x[:, 0], paddle.broadcast_to(x[:1], [3, 6]), x[:0]):
        same(lib.product(view, view), view.numpy() ** 2)


Case = tuple[Callable[[OpLibrary], Callable[..., Any]], tuple[Tensor, ...]]
DIFFERENTIABLE: dict[str, Case] = {
    "one formula each": (lambda lib: lambda x, y: lib.scaled_add(x, y, alpha=0.3), (real(3), real(3))),
    "formulas of arguments": (lambda lib: lib.product, (real(2, 3), real(2, 3))),
    "a backward kernel": (lambda lib: lib.fused_product, (real(2, 3), real(2, 3))),
    "a saved result": (lambda lib: lib.exponential, (real(3),)),
    "several outputs": (lambda lib: lib.sine_cosine, (real(3),)),
    "one output of several": (lambda lib: lambda x: lib.sine_cosine(x)[1], (real(3),)),
    "a matrix product": (lambda lib: lib.matrix_product, (real(2, 3), real(3, 4))),
    "a broadcast": (lambda lib: lib.broadcast_add, (real(4, 1, 3), real(2, 1))),
    "another shape": (lambda lib: lib.row_sums, (real(2, 3),)),
    "an optional tensor": (lambda lib: lib.add_bias, (real(2, 3), real(3))),
    "an absent tensor": (lambda lib: lambda x: lib.add_bias(x, None), (real(2, 3),)),
    "the same tensor twice": (lambda lib: lambda x: lib.product(x, x), (real(3),)),
}


def loss(function: Callable[..., Any], inputs: list[Tensor]) -> Tensor:
    outputs = function(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    return sum((paddle.sin(output) * (place + 1)).sum() for place, output in enumerate(outputs))


def differences(function: Callable[[list[Tensor]], Tensor], inputs: list[Tensor]) -> list[Any]:
    """The gradient of a number by central differences."""
    found = []
    for place, tensor in enumerate(inputs):
        values = tensor.numpy()
        gradient = np.zeros_like(values)
        for at in np.ndindex(values.shape):
            sides = []
            for step in (1e-6, -1e-6):
                moved = values.copy()
                moved[at] += step
                tensors = [*inputs]
                tensors[place] = paddle.to_tensor(moved, stop_gradient=tensor.stop_gradient)
                sides.append(float(function(tensors)))
            gradient[at] = (sides[0] - sides[1]) / 2e-6
        found.append(gradient)
    return found


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives_are_exact_to_the_second_order(lib: OpLibrary, name: str) -> None:
    make, values = DIFFERENTIABLE[name]
    function = make(lib)
    inputs = [paddle.to_tensor(value.numpy(), stop_gradient=False) for value in values]

    def of_gradients(tensors: list[Tensor]) -> Tensor:
        gradients = paddle.grad(loss(function, tensors), tensors, create_graph=True)
        return sum((gradient * paddle.cos(gradient)).sum() for gradient in gradients)

    first = paddle.grad(loss(function, inputs), inputs)
    for got, expected in zip(first, differences(lambda tensors: loss(function, tensors), inputs), strict=True):
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-5, atol=1e-7)
    second = paddle.grad(of_gradients(inputs), inputs, allow_unused=True)
    for got, expected in zip(second, differences(of_gradients, inputs), strict=True):
        np.testing.assert_allclose(0 if got is None else got.numpy(), expected, rtol=1e-4, atol=1e-6)


def test_complex_gradients_are_those_of_the_same_formula_in_paddle(lib: OpLibrary) -> None:
    x, y = complex_(4), complex_(4)
    x.stop_gradient = False
    (got,) = paddle.grad(lib.product(x, y).abs().sum(), [x])
    (expected,) = paddle.grad((x * y).abs().sum(), [x])
    np.testing.assert_allclose(got.numpy(), expected.numpy())


def test_only_who_asks_gets_a_gradient(lib: OpLibrary) -> None:
    x, y = real(3), real(3)
    assert lib.product(x, y).stop_gradient
    y.stop_gradient = False
    with paddle.no_grad():
        assert lib.product(x, y).stop_gradient
    lib.product(x, y).sum().backward()
    np.testing.assert_allclose(y.grad.numpy(), x.numpy())
    assert x.grad is None


def test_a_layer_trains(lib: OpLibrary) -> None:
    paddle.seed(0)
    net = paddle.nn.Linear(4, 4)
    optimizer = paddle.optimizer.Adam(0.05, parameters=net.parameters())
    x, target = paddle.randn([16, 4]), paddle.full([16, 4], 2.0)
    losses = []
    for _ in range(40):
        value = ((lib.exponential(net(x)) - target) ** 2).mean()
        value.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(value))
    assert losses[-1] < losses[0] / 3


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda lib, x: lib.product(x, real(4)), CallError, r"argument 'y' has shape \[4\], expected \[3\]"),
        (lambda lib, x: lib.product(x), CallError, "argument 'y' is missing"),
        (lambda lib, x: lib.product(x, x.numpy()), CallError, "come from one framework"),
        (lambda lib, x: lib.product(x.astype("bfloat16"), x), CallError, "bfloat16"),
        (lambda lib, x: lib.opaque(x, x), UnsupportedError, "opaque has no derivative"),
        (lambda lib, x: lib.half_known(x, x), UnsupportedError, "no derivative for 'y'"),
        (lambda lib, x: lib.square_(x), UnsupportedError, "no_grad"),
    ],
)
def test_what_goes_wrong_is_said(
    lib: OpLibrary, call: Callable[[OpLibrary, Tensor], Any], error: type[Exception], words: str
) -> None:
    x = real(3)
    x.stop_gradient = False
    with pytest.raises(error, match=words):
        call(lib, x)


def test_a_failing_kernel_is_an_exception(kernels: Path) -> None:
    schema = "paddle_tests::throws(Tensor x) -> Tensor"
    throws = ob.inline(
        """
        #include <opbridge/kernel.h>
        void throws(ob::In<double> x, ob::Out<double>) { OB_CHECK(x.numel() == 0, "no elements expected"); }
        OB_KERNEL(throws)
        """,
        schema=schema,
        out="x",
    )
    with pytest.raises(KernelError, match="no elements expected"):
        throws(real(3))


def test_checks_know_paddle(lib: OpLibrary) -> None:
    rows = check([lib.product, lib.sine_cosine, lib.square_], frameworks=["paddle"])
    assert [row for row in rows if row.failed] == []
    assert {"gradients", "shapes", "strides", "threads"} <= {row.check for row in rows if row.status is Status.PASSED}


X = np.array([[0.25, -0.5, 0.75], [0.1, 0.2, -0.3]], np.float32)
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    **{name: (X, np.abs(X) + 1) for name in ("add", "subtract", "multiply", "divide", "atan2", "maximum")},
    **dict.fromkeys(("minimum", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"), (X, 0.2)),
    **dict.fromkeys(("floor_divide", "remainder"), (X, 0.3)),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), (X > 0, X > 0.2)),
    **dict.fromkeys(("sum", "mean", "max", "min", "flip", "var", "std"), (X, (0, 1))),
    **dict.fromkeys(("all", "any"), (X > 0, 1, True)),
    **dict.fromkeys(("argmax", "argmin", "cumulative_sum", "expand_dims", "tril", "triu", "prod"), (X, 1)),
    **dict.fromkeys(("concat", "stack"), ((X, X), 1)),
    **dict.fromkeys(("zeros", "ones"), ((2, 3), "int8")),
    "acosh": (np.abs(X) + 1,),
    "astype": (X, "int32"),
    "broadcast_to": (X, (4, 2, 3)),
    "clip": (X, -0.2, 0.2),
    "full_like": (X, 3),
    "logical_not": (X > 0,),
    "matmul": (X, X.T),
    "permute_dims": (X, (1, 0)),
    "pow": (np.abs(X) + 1, X),
    "reshape": (X, (3, 2)),
    "roll": (X, 1, 1),
    "squeeze": (X[None], 0),
    "sum_to": (X, (2, 1)),
    "take": (X, np.array([[2, 0], [1, 1]]), 1),
    "tensordot": (X, X.T, 1),
    "where": (X > 0, X, 0),
}


@pytest.mark.parametrize("name", ARRAY_FUNCTIONS)
def test_every_function_of_a_formula_is_numpys(name: str) -> None:
    arguments = ARGUMENTS.get(name, (np.abs(X) if name in ("sqrt", "rsqrt", "log", "log2", "log10") else X,))

    def tensor(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return paddle.to_tensor(value)
        if isinstance(value, tuple) and isinstance(value[0], np.ndarray):
            return tuple(map(paddle.to_tensor, value))
        return DTYPES[value] if isinstance(value, str) else value

    got = FUNCTIONS[name](*map(tensor, arguments))
    expected = np.asarray(NUMPY_FUNCTIONS[name](*arguments))
    np.testing.assert_allclose(got.numpy(), expected, rtol=2e-5, atol=1e-6)
    assert tuple(got.shape) == expected.shape
