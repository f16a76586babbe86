"""Gradients of ATen operators in MindSpore, of first and second order, against PyTorch's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import mindspore as ms
import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal

import opbridge as ob

Network = Callable[..., Any]

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.standard_normal((2, 4, 6))
SQUARE = RANDOM.standard_normal((4, 4)) + 4 * np.eye(4)
IMAGES = RANDOM.standard_normal((1, 2, 6, 6))
KERNELS = RANDOM.standard_normal((3, 2, 3, 3))
ROWS = np.array([0, 2, 2])

FIRST_ORDER: dict[str, tuple[str, list[Any], tuple[np.ndarray[Any, Any], ...]]] = {
    "leaky_relu": ("leaky_relu", [0.2], (X,)),
    "sin": ("sin", [], (X,)),
    "gelu": ("gelu", [], (X,)),
    "mul": ("mul", [], (X, Y)),
    "broadcast": ("mul", [], (X, Y[:1])),
    "pow": ("pow", [3], (X,)),
    "sum": ("sum", [[1]], (X,)),
    "logsumexp": ("logsumexp", [[1]], (X,)),
    "softmax": ("softmax", [1], (X,)),
    "cumsum": ("cumsum", [1], (X,)),
    "max": ("amax", [[1]], (X,)),
    "mm": ("mm", [], (X, Y.T.copy())),
    "det": ("linalg_det", [], (SQUARE,)),
    "inverse": ("linalg_inv", [], (SQUARE,)),
    "convolution": ("conv2d", [], (IMAGES, KERNELS)),
    "pooling": ("avg_pool2d", [[2, 2]], (IMAGES,)),
    "upsample": ("upsample_bilinear2d", [[9, 9], False], (IMAGES,)),
    "transpose": ("transpose", [0, 1], (X,)),
    "in place": ("mul_", [], (X, Y)),
    "maximum": ("maximum", [], (X, Y)),
}
SECOND_ORDER = ("sin", "mul", "pow", "softmax", "convolution", "inverse")


@pytest.fixture(scope="module", autouse=True)
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("mindspore"))
        patch.setenv("GLOG_v", "3")
        yield


def of_torch(name: str, attributes: Sequence[Any], inputs: Sequence[Any], order: int) -> list[Any]:
    op = getattr(torch.ops.aten, name)
    tensors = [torch.tensor(x, requires_grad=True) for x in inputs]
    # In place, an operator may not write to a leaf.
    result = op(*(tensor.clone() for tensor in tensors), *attributes).sum()
    grads = torch.autograd.grad(result, tensors, create_graph=order > 1)
    if order > 1:
        grads = torch.autograd.grad(sum((grad * grad).sum() for grad in grads), tensors)
    return [grad.numpy() for grad in grads]


def network_of(name: str, attributes: Sequence[Any]) -> ms.nn.Cell:
    class Summed(ms.nn.Cell):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.op = ob.aten(name).mindspore
            self.attributes = tuple(attributes)

        def construct(self, *tensors: Any) -> Any:
            return self.op(*tensors, *self.attributes).sum()

    return Summed()


def gradient(network: Network, count: int, order: int) -> Network:
    first = ms.grad(network, tuple(range(count)))
    if order == 1:
        return first

    def squares(*tensors: Any) -> Any:
        total = 0
        for grad in first(*tensors) if count > 1 else (first(*tensors),):
            total = total + (grad * grad).sum()
        return total

    return ms.grad(squares, tuple(range(count)))


def check(case: str, order: int, compiled: bool) -> None:
    name, attributes, inputs = FIRST_ORDER[case]
    function = gradient(network_of(name, attributes), len(inputs), order)
    if compiled:
        function = ms.jit(function)
    # From its second run on, a gradient takes the results that it is given.
    for scale in (1.0, 0.5, -1.5):
        scaled = [scale * one for one in inputs]
        grads = function(*map(ms.Tensor, scaled))
        grads = grads if isinstance(grads, tuple) else (grads,)
        for got, expected in zip(grads, of_torch(name, attributes, scaled, order), strict=True):
            np.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("case", FIRST_ORDER)
def test_in_pynative_mode(case: str) -> None:
    check(case, 1, compiled=False)


@pytest.mark.cases(5)
@pytest.mark.parametrize("case", FIRST_ORDER)
def test_in_a_graph(case: str) -> None:
    check(case, 1, compiled=True)


@pytest.mark.cases(4)
@pytest.mark.parametrize("compiled", [False, True], ids=["pynative", "graph"])
@pytest.mark.parametrize("case", SECOND_ORDER)
def test_second_order(case: str, compiled: bool) -> None:
    check(case, 2, compiled)


@pytest.mark.parametrize("compiled", [False, True], ids=["pynative", "graph"])
def test_the_gradient_does_not_run_the_operator_again(compiled: bool, counted: list[str]) -> None:
    twice = ob.aten("counted::twice").mindspore

    def network(x: Any) -> Any:
        return twice(x).sum()

    grad = ms.jit(ms.grad(network)) if compiled else ms.grad(network)
    for _ in range(4):
        assert_array_equal(grad(ms.Tensor(X)).asnumpy(), np.full_like(X, 2))
    assert len(counted) == 5  # once each forward, and once to see what the gradient needs


@pytest.fixture
def counted() -> Iterator[list[str]]:
    """The runs of an operator `counted::twice`."""
    runs: list[str] = []
    with torch.library._scoped_library("counted", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: runs.append("cpu") or 2 * x, "CPU")
        torch.library.register_fake("counted::twice", torch.empty_like, lib=library)
        torch.library.register_autograd("counted::twice", lambda ctx, grad: 2 * grad, lib=library)
        yield runs


def test_sizes_that_go_another_way() -> None:
    """What PyTorch makes of `linear` depends on the number of dimensions."""
    linear = ob.aten("linear").mindspore
    grad = ms.grad(lambda x, w, b: (linear(x, w, b) ** 2).sum(), (0, 1, 2))
    weight, bias = RANDOM.standard_normal((3, 6)), RANDOM.standard_normal(3)
    for shape in [(4, 6), (4, 6), (2, 4, 6), (6,), (4, 6), (2, 4, 6)]:
        x = RANDOM.standard_normal(shape)
        tensors = [torch.tensor(one, requires_grad=True) for one in (x, weight, bias)]
        expected = torch.autograd.grad((torch.nn.functional.linear(*tensors) ** 2).sum(), tensors)
        for got, want in zip(grad(*map(ms.Tensor, (x, weight, bias))), expected, strict=True):
            np.testing.assert_allclose(got.asnumpy(), want.numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("compiled", [False, True], ids=["pynative", "graph"])
def test_a_result_that_is_written_to(compiled: bool) -> None:
    """The gradient of tanh is computed from its result."""
    tanh = ob.aten("tanh").mindspore

    def network(x: Any) -> Any:
        y = tanh(x)
        y.add_(ms.ops.ones_like(x))
        return y.sum()

    grad = ms.jit(ms.grad(network)) if compiled else ms.grad(network)
    for _ in range(3):
        np.testing.assert_allclose(grad(ms.Tensor(X)).asnumpy(), 1 - np.tanh(X) ** 2)


@pytest.mark.parametrize("compiled", [False, True], ids=["pynative", "graph"])
def test_second_order_of_several_results(compiled: bool) -> None:
    moments = ob.aten("var_mean.correction").mindspore

    def network(x: Any) -> Any:
        variance, mean = moments(x, [1], correction=1)
        return (variance * variance * mean).sum()

    first = ms.grad(network)

    def cosines(x: Any) -> Any:
        return ms.ops.cos(first(x)).sum()

    second = ms.jit(ms.grad(cosines)) if compiled else ms.grad(cosines)
    x = torch.tensor(X, requires_grad=True)
    variance, mean = torch.var_mean(x, [1], correction=1)
    (grad,) = torch.autograd.grad((variance * variance * mean).sum(), x, create_graph=True)
    (expected,) = torch.autograd.grad(torch.cos(grad).sum(), x)
    for _ in range(3):
        np.testing.assert_allclose(second(ms.Tensor(X)).asnumpy(), expected.numpy(), rtol=1e-10)


def test_what_is_written_to_and_not_returned_follows_the_results() -> None:
    operator = ob.aten("_batch_norm_with_update").mindspore
    weight, statistics = np.arange(1.0, 1 + X.shape[1]), (np.zeros(X.shape[1]), np.ones(X.shape[1]))
    given = [ms.Tensor(each) for each in (weight, weight, *statistics)]

    def normalise(x: ms.Tensor) -> tuple[ms.Tensor, ...]:
        return operator(x, *given, 0.1, 1e-5)

    *_, mean, variance = normalise(ms.Tensor(X))
    np.testing.assert_allclose(mean.asnumpy(), 0.1 * X.mean(0))
    np.testing.assert_allclose(variance.asnumpy(), 0.9 + 0.1 * X.var(0, ddof=1))
    grad = ms.grad(lambda x: (normalise(x)[0] ** 3).sum())
    x, by = torch.tensor(X, requires_grad=True), torch.tensor(weight)
    normalised = torch.nn.functional.batch_norm(x, None, None, by, by, training=True)
    (expected,) = torch.autograd.grad((normalised**3).sum(), x)
    for _ in range(3):
        np.testing.assert_allclose(grad(ms.Tensor(X)).asnumpy(), expected.numpy(), atol=1e-12)


def test_third_order() -> None:
    sin = ob.aten("sin").mindspore
    function: Network = lambda x: sin(x).sum()  # noqa: E731
    for _ in range(3):
        function = _summed(ms.grad(function))
    np.testing.assert_allclose(ms.grad(_summed(sin))(ms.Tensor(X)).asnumpy(), np.cos(X))
    np.testing.assert_allclose(function(ms.Tensor(X)).asnumpy(), -np.cos(X).sum())


def _summed(function: Network) -> Network:
    return lambda x: function(x).sum()


def test_several_outputs_and_integers() -> None:
    """The gradient reaches the values, not the indices; integers get zeros."""
    largest = ob.aten("topk").mindspore
    grads = ms.grad(lambda x: largest(x, 2)[0])(ms.Tensor(X))
    assert_array_equal(grads.asnumpy(), (np.sort(X, axis=1)[:, -2:-1] <= X).astype(float))

    embedding = ob.aten("embedding").mindspore
    weight, rows = ms.grad(lambda w, i: embedding(w, i), (0, 1))(ms.Tensor(X), ms.Tensor(ROWS))
    assert_array_equal(weight.asnumpy(), np.array([1, 0, 2, 0])[:, None] * np.ones((4, 6)))
    assert_array_equal(rows.asnumpy(), np.zeros(3))


def test_a_list_of_tensors() -> None:
    cat = ob.aten("cat").mindspore
    first, second = ms.grad(lambda x, y: cat([x, y * y], 1), (0, 1))(ms.Tensor(X), ms.Tensor(Y))
    assert_array_equal(first.asnumpy(), np.ones_like(X))
    assert_array_equal(second.asnumpy(), 2 * Y)


@pytest.mark.parametrize("compiled", [False, True], ids=["pynative", "graph"])
def test_backward_sees_the_draw_of_forward(compiled: bool) -> None:
    dropout = ob.aten("dropout").mindspore

    def function(x: Any) -> Any:
        return dropout(x, 0.5, True)

    with_gradient = ms.value_and_grad(function)
    if compiled:
        with_gradient = ms.jit(with_gradient)
    torch.manual_seed(3)
    value, grad = with_gradient(ms.Tensor(X))
    assert_array_equal(grad.asnumpy(), np.where(value.asnumpy() != 0, 2.0, 0.0))

    torch.manual_seed(3)
    again, _ = with_gradient(ms.Tensor(X))
    assert_array_equal(again.asnumpy(), value.asnumpy())


def test_what_only_running_tells() -> None:
    """`masked_select` runs in PyTorch at once, and has its gradients of any order all the same."""
    select = ob.aten("masked_select").mindspore
    x, mask = ms.Tensor(X), ms.Tensor(X > 0)
    first = ms.grad(lambda x: select(x * x * x, mask))
    np.testing.assert_allclose(first(x).asnumpy(), np.where(X > 0, 3 * X**2, 0))
    np.testing.assert_allclose(ms.grad(lambda x: first(x).sum())(x).asnumpy(), np.where(X > 0, 6 * X, 0))


@pytest.mark.parametrize("compiled", [False, True], ids=["pynative", "graph"])
def test_arguments_that_pytorch_has_no_gradient_for(compiled: bool) -> None:
    """It refuses to run where running means want one; the others get theirs."""
    batch_norm = ob.aten("batch_norm").mindspore

    def function(x: Any, mean: Any, var: Any) -> Any:
        return batch_norm(x, None, None, mean, var, False, 0.1, 0.0, False).sum()

    grad = ms.grad(function, (0, 1, 2))
    if compiled:
        grad = ms.jit(grad)
    of_x, of_mean, of_var = grad(ms.Tensor(X), ms.Tensor(np.zeros(6)), ms.Tensor(np.full(6, 4.0)))
    np.testing.assert_allclose(of_x.asnumpy(), np.full_like(X, 0.5))
    assert_array_equal(of_mean.asnumpy(), np.zeros(6))
    assert_array_equal(of_var.asnumpy(), np.zeros(6))


def test_training_a_network() -> None:
    """Weights in MindSpore, an operator of PyTorch's between them, MindSpore's optimizer."""

    class Model(ms.nn.Cell):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = ms.Parameter(ms.Tensor(np.ones((6, 1), np.float32)), name="weight")
            self.activation = ob.aten("gelu").mindspore

        def construct(self, x: Any) -> Any:
            return (self.activation(ms.ops.matmul(x, self.weight)) ** 2).mean()

    model = Model()
    optimizer = ms.nn.SGD(model.trainable_params(), learning_rate=0.1)
    step = ms.value_and_grad(model, None, optimizer.parameters)
    losses = []
    for _ in range(5):
        loss, grads = step(ms.Tensor(X, ms.float32))
        optimizer(grads)
        losses.append(float(loss.asnumpy()))
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] / 2
