"""`ob.autograd` with a schema: the same functions as operators that PyTorch compiles, exports and checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import opbridge as ob
from opbridge.base.errors import CallError, KernelError, UnsupportedError

# PyTorch's own use of what it deprecates.
pytestmark = [
    pytest.mark.usefixtures("fresh_compiler"),
    pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.isinstance.treespec, LeafSpec:FutureWarning"),
]


def cell(x: Tensor, w: Tensor, b: Tensor | None, scale: float) -> tuple[Tensor, Tensor, Tensor]:
    gate = torch.sigmoid(x @ w if b is None else torch.addmm(b, x, w))
    return gate * scale, torch.tanh(gate), gate


def cell_backward(
    grad_h: Tensor, grad_t: Tensor, gate: Tensor, t: Tensor, x: Tensor, w: Tensor, b: Tensor | None, scale: float
) -> tuple[Tensor, ...]:
    grad = (grad_h * scale + grad_t * (1 - t * t)) * gate * (1 - gate)
    found = (grad @ w.t(), x.t() @ grad)
    return found if b is None else (*found, grad.sum(0))


SCHEMA = "regtest::cell(Tensor x, Tensor w, Tensor? b=None, float scale=2.0) -> (Tensor h, Tensor t, Tensor gate)"


@pytest.fixture(scope="module")
def function() -> Callable[..., Any]:
    """Two outputs and a hidden one, an optional tensor and an attribute with a default."""
    return ob.autograd(
        forward=cell,
        backward=cell_backward,
        outputs=("h", "t"),
        saved=("gate", "t", "x", "w", "b", "scale"),
        schema=SCHEMA,
        out=[{"shape": "[x.shape[0], w.shape[1]]"}] * 3,
    )


def doubles(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def arguments(batch: int = 3) -> tuple[Tensor, Tensor, Tensor]:
    return doubles(batch, 4), doubles(4, 2), doubles(2)


def gradients(function: Callable[..., Any], inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    h, t = function(*inputs)[:2]
    return torch.autograd.grad(h.sum() + (t * t).sum(), inputs)


def reference(*inputs: Tensor) -> tuple[Tensor, ...]:
    return cell(*inputs, *([None] * (3 - len(inputs))), 2.0)


def test_it_is_an_operator_of_pytorch(function: Callable[..., Any]) -> None:
    returned = torch.ops.regtest.cell(*arguments())
    assert len(returned) == 3
    assert len(function(*arguments())) == 2
    backward = str(torch.ops.regtest.cell_backward.default._schema)
    assert backward == (
        "regtest::cell_backward(Tensor grad_h, Tensor grad_t, Tensor gate, Tensor t, Tensor x, Tensor w, Tensor? b, "
        "float scale) -> (Tensor, Tensor, Tensor)"
    )


@pytest.mark.parametrize("inputs", [arguments(), arguments()[:2], (*arguments(), 0.5)], ids=["all", "none", "scale"])
def test_pytorch_finds_nothing_wrong_with_it(function: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    assert torch.autograd.gradcheck(function, inputs)
    assert torch.autograd.gradcheck(lambda *values: torch.ops.regtest.cell(*values)[:2], inputs)
    torch.library.opcheck(torch.ops.regtest.cell.default, inputs)


def test_it_compiles_in_one_graph_with_its_gradient_for_any_batch(function: Callable[..., Any]) -> None:
    compiled = torch.compile(function, fullgraph=True, dynamic=True, backend="aot_eager")
    for batch in (3, 7):
        for inputs in (arguments(batch), arguments(batch)[:2]):
            for ours, theirs in zip(gradients(compiled, inputs), gradients(reference, inputs), strict=True):
                torch.testing.assert_close(ours, theirs)


def test_it_is_exported_as_one_node(function: Callable[..., Any]) -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Tensor, w: Tensor) -> Tensor:
            return function(x, w)[0] + 1

    x, w = torch.randn(3, 4), torch.randn(4, 2)
    program = torch.export.export(Model(), (x, w))
    assert [str(node.target) for node in program.graph.nodes if "regtest" in str(node.target)] == [
        "regtest.cell.default"
    ]
    torch.testing.assert_close(program.module()(x, w), reference(x, w)[0] + 1)


def test_transforms_of_torch_func_apply(function: Callable[..., Any]) -> None:
    x, w, b = (value.detach() for value in arguments())
    ours = torch.func.jacrev(lambda x: function(x, w, b)[1])(x)
    torch.testing.assert_close(ours, torch.func.jacrev(lambda x: reference(x, w, b)[1])(x))
    rows = torch.func.vmap(lambda row: function(row[None], w, b)[0][0])(x)
    torch.testing.assert_close(rows, reference(x, w, b)[0])
    stacked = torch.vmap(torch.ops.regtest.cell, in_dims=(0, None, None))(torch.stack([x, x + 1]), w, b)
    torch.testing.assert_close(stacked[0][1], reference(x + 1, w, b)[0])


def test_modes_see_the_operator(function: Callable[..., Any]) -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Watching(TorchDispatchMode):
        def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(op))
            return op(*args, **(kwargs or {}))

    inputs = [value.detach() for value in arguments()]
    with Watching():
        function(*inputs)
    assert "regtest.cell.default" in seen
    meta = function(*(value.to("meta") for value in inputs))
    assert [tuple(value.shape) for value in meta] == [(3, 2), (3, 2)]


def test_autocast_changes_no_dtype_inside(function: Callable[..., Any]) -> None:
    inputs = [value.detach().float().requires_grad_() for value in arguments()]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        h, _ = function(*inputs)
    assert h.dtype == torch.float32
    h.sum().backward()
    assert all(value.grad.dtype == torch.float32 for value in inputs)


def test_a_second_derivative_is_an_error(function: Callable[..., Any]) -> None:
    for call in (function, lambda *values: torch.ops.regtest.cell(*values)):
        inputs = arguments()
        (grad,) = torch.autograd.grad(call(*inputs)[0].sum(), inputs[0], create_graph=True)
        with pytest.raises(UnsupportedError, match="regtest::cell has no second derivative"):
            grad.square().sum().backward()


def test_or_an_operator_of_its_own() -> None:
    function = ob.autograd(
        forward=lambda x: x**3,
        backward=lambda grad, x: 3 * grad * x**2,
        double_backward=lambda again, grad, x: (3 * again * x**2, 6 * again * grad * x),
        saved="x",
        schema="regtest::cube(Tensor x) -> Tensor",
        out="x",
    )
    for call in (function, torch.ops.regtest.cube):
        assert torch.autograd.gradgradcheck(call, (doubles(3),))
    assert str(torch.ops.regtest.cube_backward_backward.default).startswith("regtest.")


def test_both_may_ask_for_what_is_needed() -> None:
    def backward(grad: Tensor, x: Tensor, w: Tensor, *, needs_input_grad: list[bool]) -> tuple[Tensor | None, ...]:
        return tuple(grad * other if needed else None for needed, other in zip(needs_input_grad, (w, x), strict=True))

    def double_backward(again_x: Tensor, again_w: Tensor, grad: Tensor, x: Tensor, w: Tensor) -> tuple[Tensor, ...]:
        return again_x * w + again_w * x, again_w * grad, again_x * grad

    function = ob.autograd(
        forward=lambda x, w: x * w,
        backward=backward,
        double_backward=double_backward,
        saved=("x", "w"),
        schema="regtest::product(Tensor x, Tensor w) -> Tensor",
        out="x",
    )
    for call in (function, torch.ops.regtest.product):
        assert torch.autograd.gradgradcheck(call, (doubles(3), doubles(3)))


def test_gradients_of_what_is_not_saved_know_their_shape() -> None:
    def backward(grad: Tensor, w: Tensor, needs_input_grad: list[bool]) -> tuple[Tensor | None, Tensor | None]:
        return (grad * w if needs_input_grad[0] else None), (grad if needs_input_grad[1] else None)

    function = ob.autograd(
        forward=lambda x, b, w: x * w + b,
        backward=backward,
        saved="w",
        gradients=("x", "b"),
        schema="regtest::affine(Tensor x, Tensor b, Tensor w) -> Tensor",
        out="broadcast(x, b, w)",
    )
    x, b, w = doubles(3, 4), doubles(4), torch.randn(4, dtype=torch.float64)
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    for call in (function, torch.ops.regtest.affine, compiled):
        grad_x, grad_b = torch.autograd.grad(call(x, b, w).sum(), (x, b))
        torch.testing.assert_close(grad_x, w.expand(3, 4))
        torch.testing.assert_close(grad_b, torch.full_like(b, 3))
        (alone,) = torch.autograd.grad(call(x.detach(), b, w).sum(), b)
        torch.testing.assert_close(alone, grad_b)


def test_what_a_function_returns_may_be_its_argument() -> None:
    function = ob.autograd(
        forward=lambda x: x, backward=lambda grad: grad, schema="regtest::same(Tensor x) -> Tensor", out="x"
    )
    x = torch.randn(3, 2, dtype=torch.float64).t().requires_grad_()
    assert torch.autograd.gradcheck(torch.ops.regtest.same, (x,))
    torch.library.opcheck(torch.ops.regtest.same.default, (x,))
    assert torch.equal(torch.autograd.grad(function(x).sum(), x)[0], torch.ones_like(x))


def test_keyword_only_attributes_are_passed_by_name() -> None:
    def power(x: Tensor, *, exponent: float) -> Tensor:
        return x**exponent

    function = ob.autograd(
        forward=power,
        backward=lambda grad, x, exponent: grad * exponent * x ** (exponent - 1),
        saved=("x", "exponent"),
        schema="regtest::power(Tensor x, *, float exponent=2.0) -> Tensor",
        out="x",
    )
    x = doubles(3)
    for call in (function, torch.ops.regtest.power, torch.compile(function, fullgraph=True, backend="aot_eager")):
        (grad,) = torch.autograd.grad(call(x, exponent=3.0).sum(), x)
        torch.testing.assert_close(grad, 3 * x.detach() ** 2)
        torch.testing.assert_close(call(x), x**2)


def test_an_out_rule_that_is_wrong_is_told_with_the_output() -> None:
    ob.autograd(forward=lambda x: x[:1], backward=lambda g: g, schema="regtest::first(Tensor x) -> Tensor", out="x")
    with pytest.raises(
        KernelError, match=r"the out rule of 'result' says \[3\] of torch.float32, and .* returned \[1\]"
    ):
        torch.ops.regtest.first(torch.randn(3))


def test_a_gradient_that_is_none_is_told_with_the_argument() -> None:
    ob.autograd(
        forward=lambda x, w: x * w,
        backward=lambda grad, w: (grad * w, None),
        saved="w",
        schema="regtest::half(Tensor x, Tensor w) -> Tensor",
        out="x",
    )
    with pytest.raises(CallError, match=r"None for the gradient of 'w'.*leave that argument out of gradients="):
        torch.ops.regtest.half(doubles(2), doubles(2)).sum().backward()


def test_a_name_defined_again_is_the_new_function() -> None:
    for factor in (2.0, 3.0):
        function = ob.autograd(
            forward=lambda x, factor=factor: x * factor,
            backward=lambda grad, factor=factor: grad * factor,
            inputs=None,
            schema="regtest::times(Tensor x, float factor=1.0) -> Tensor",
            out="x",
        )
        assert function.__name__ == "<lambda>"
    assert torch.equal(torch.ops.regtest.times(torch.ones(2), 4.0), torch.full((2,), 4.0))


def test_a_name_that_a_library_has_taken_is_said() -> None:
    with pytest.raises(UnsupportedError, match="aten::relu: PyTorch refuses the operator"):
        ob.autograd(forward=lambda x: x, backward=lambda g: g, schema="aten::relu(Tensor x) -> Tensor", out="x")
