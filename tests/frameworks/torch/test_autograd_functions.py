"""`ob.autograd` without a schema: two plain functions, and what PyTorch's autograd then does with them."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
import torch
from torch import Tensor

import opbridge as ob
from opbridge.base.errors import CallError, UnsupportedError

# PyTorch's own use of what it deprecates.
pytestmark = [
    pytest.mark.usefixtures("fresh_compiler"),
    pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning"),
]


def scaled(x: Tensor, w: Tensor, scale: float = 2.0) -> tuple[Tensor, Tensor]:
    h = x * w * scale
    return h, torch.exp(h)


def scaled_backward(
    grad_h: Tensor, grad_e: Tensor, x: Tensor, w: Tensor, e: Tensor, scale: float
) -> tuple[Tensor, Tensor]:
    grad = grad_h + grad_e * e
    return grad * w * scale, grad * x * scale


FIELDS: dict[str, Any] = {
    "forward": scaled,
    "backward": scaled_backward,
    "outputs": ("h", "e"),
    "saved": ("x", "w", "e", "scale"),
}


def doubles(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def test_both_outputs_have_a_gradient_and_either_alone() -> None:
    function = ob.autograd(**FIELDS)
    x, w = doubles(4), doubles(4)
    assert torch.autograd.gradcheck(function, (x, w, 1.5))
    for place in (0, 1):
        assert torch.autograd.gradcheck(lambda x, w: function(x, w)[place], (x, w))  # noqa: B023


def test_arguments_come_by_name_and_by_default() -> None:
    function = ob.autograd(**FIELDS)
    x, w = doubles(4), doubles(4)
    assert torch.equal(function(x, scale=2.0, w=w)[0], function(x, w)[0])
    with pytest.raises(CallError, match=r"takes 3 arguments \(x, w, scale\); w not given"):
        function(x)
    with pytest.raises(CallError, match="'sale' did you mean 'scale'"):
        function(x, w, sale=1.0)


def gated(x: Tensor, w: Tensor) -> list[Tensor]:
    gate = torch.sigmoid(x @ w)
    return [gate * 3, gate]


def gated_backward(grad: Tensor, gate: Tensor, x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    grad = grad * 3 * gate * (1 - gate)
    return x.t() @ grad, grad @ w.t()


def test_outputs_for_the_backward_alone_are_named_by_saved_and_gradients_come_in_their_own_order() -> None:
    function = ob.autograd(
        forward=gated, backward=gated_backward, outputs="h", saved=("gate", "x", "w"), gradients=("w", "x")
    )
    x, w = doubles(3, 4), doubles(4, 2)
    assert isinstance(function(x, w), Tensor)
    assert torch.autograd.gradcheck(function, (x, w))


def test_gradients_in_the_wrong_order_are_named() -> None:
    function = ob.autograd(forward=gated, backward=gated_backward, outputs="h", saved=("gate", "x", "w"))
    with pytest.raises(CallError, match=r"the gradient of 'x' has shape \[4, 2\], expected \[3, 4\]; gradients= says"):
        function(doubles(3, 4), doubles(4, 2)).sum().backward()


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (lambda grad: (grad, grad, grad, grad), "returned 4 gradients; expected 2, of x, w, or 3 with None"),
        (lambda grad: (grad, grad, grad), "a gradient of 'scale', which was no tensor"),
    ],
)
def test_a_wrong_number_of_gradients_is_named(found: Any, message: str) -> None:
    function = ob.autograd(forward=lambda x, w, scale: x * w * scale, backward=found)
    with pytest.raises(CallError, match=message):
        function(doubles(2), doubles(2), 2.0).sum().backward()


def test_a_gradient_may_be_none() -> None:
    function = ob.autograd(forward=lambda x, w: x * w, backward=lambda grad, w: (grad * w, None), saved="w")
    x, w = doubles(2), doubles(2)
    assert torch.autograd.grad(function(x, w).sum(), (x, w), allow_unused=True)[1] is None


def test_a_backward_may_ask_which_gradients_are_wanted() -> None:
    asked = []

    def backward(grad: Tensor, x: Tensor, w: Tensor, needs_input_grad: list[bool]) -> tuple[Tensor | None, ...]:
        asked.append(tuple(needs_input_grad))
        return tuple(grad * other if needed else None for needed, other in zip(needs_input_grad, (w, x), strict=True))

    function = ob.autograd(forward=lambda x, w: x * w, backward=backward, saved=("x", "w"))
    x, w = doubles(2), doubles(2)
    function(x, w.detach()).sum().backward()
    assert asked == [(True, False)]
    assert torch.equal(x.grad, w)


def test_outputs_without_gradient_are_said() -> None:
    def top(x: Tensor) -> tuple[Tensor, Tensor]:
        return tuple(x.max(0))

    def top_backward(grad: Tensor, index: Tensor, x: Tensor) -> Tensor:
        return torch.zeros_like(x).scatter(0, index[None], grad[None])

    fields: dict[str, Any] = {"forward": top, "outputs": ("value", "index")}
    function = ob.autograd(backward=top_backward, saved=("index", "x"), nondifferentiable="index", **fields)
    assert torch.autograd.gradcheck(lambda x: function(x)[0], (doubles(5, 3),))
    unsaid = ob.autograd(backward=lambda grad, other: grad, **fields)
    with pytest.raises(
        CallError, match=r"'index' is a tensor of torch.int64, which has no gradient; name it in nondiff"
    ):
        unsaid(doubles(5, 3))


def test_too_many_outputs_are_told_when_forward_returns_them() -> None:
    function = ob.autograd(**{**FIELDS, "outputs": ("h",), "backward": lambda grad, *saved: grad, "saved": "x"})
    with pytest.raises(CallError, match=r"scaled returned 2 outputs, of which 1 are named by outputs= \(h\)"):
        function(doubles(2), doubles(2))


def test_unnamed_outputs_are_counted_when_they_come() -> None:
    function = ob.autograd(forward=scaled, backward=lambda grad, x, w: (grad * w, grad * x), saved=("x", "w"))
    with pytest.raises(CallError, match="would be given 4: gradient of result, gradient of result1, x, w"):
        function(doubles(2), doubles(2))


def test_the_first_output_is_called_result() -> None:
    function = ob.autograd(forward=torch.exp, backward=lambda grad, result: grad * result, inputs="x", saved="result")
    assert torch.autograd.gradcheck(function, (doubles(3),))


def test_a_list_of_tensors_would_lose_its_gradient() -> None:
    function = ob.autograd(forward=lambda xs: xs[0] + xs[1], backward=lambda grad: grad)
    with pytest.raises(UnsupportedError, match="'xs' is a list of tensors, which no gradient would reach"):
        function([doubles(2), doubles(2)])


def test_a_function_of_addresses_works_too() -> None:
    library = ctypes.CDLL(None)
    library.memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]

    def copied(x: Tensor) -> Tensor:
        out = torch.empty_like(x)
        library.memcpy(out.data_ptr(), x.data_ptr(), x.nbytes)
        return out

    function = ob.autograd(forward=copied, backward=copied)
    x = doubles(3, 4)
    assert torch.autograd.gradcheck(function, (x,))
    assert torch.equal(torch.func.vmap(function)(x.detach()), x)
    assert torch.equal(torch.func.jacrev(function)(x.detach()), torch.eye(12, dtype=torch.float64).view(3, 4, 3, 4))


def test_a_compiled_function_calls_it_between_its_graphs() -> None:
    function = ob.autograd(**FIELDS)

    def twice(x: Tensor, w: Tensor) -> Tensor:
        return function(x * 2, w)[1] * 2

    x, w = doubles(3), doubles(3)
    compiled = torch.compile(twice, backend="aot_eager")
    expected = torch.autograd.grad(twice(x, w).sum(), (x, w))
    for ours, theirs in zip(torch.autograd.grad(compiled(x, w).sum(), (x, w)), expected, strict=True):
        torch.testing.assert_close(ours, theirs)
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported, match=r"scaled. is not an operator; schema= and out= make"):
        torch.compile(twice, fullgraph=True, backend="aot_eager")(x, w)


class TestSecondDerivatives:
    def test_without_one_it_is_an_error_and_never_zeros(self) -> None:
        function = ob.autograd(**FIELDS)
        x, w = doubles(3), doubles(3)
        (grad,) = torch.autograd.grad(function(x, w)[0].sum(), x, create_graph=True)
        with pytest.raises(UnsupportedError, match="nothing says what the gradient of scaled_backward is"):
            grad.sum().backward()

    @pytest.mark.parametrize(
        "names",
        [{"outputs": "h"}, {"outputs": ("h", "gate"), "nondifferentiable": "gate"}],
        ids=["hidden", "nondifferentiable"],
    )
    def test_outputs_that_pytorch_does_not_follow_do_not_hide_it(self, names: dict[str, Any]) -> None:
        def backward(grad: Tensor, gate: Tensor) -> Tensor:
            return grad * 3 * gate * (1 - gate)

        def forward(x: Tensor) -> tuple[Tensor, Tensor]:
            gate = torch.sigmoid(x)
            return gate * 3, gate

        function = ob.autograd(forward=forward, backward=backward, saved="gate", **names)
        x = doubles(3)
        h = function(x) if names["outputs"] == "h" else function(x)[0]
        (grad,) = torch.autograd.grad(h.sum(), x, create_graph=True)
        with pytest.raises(UnsupportedError, match="no second derivative"):
            (grad.square().sum() + x.sum()).backward()

    def test_a_function_of_gradients_grads_and_saved_gives_it(self) -> None:
        function = ob.autograd(
            forward=lambda x: x**3,
            backward=lambda grad, x: 3 * grad * x**2,
            double_backward=lambda again, grad, x: (3 * again * x**2, 6 * again * grad * x),
            saved="x",
            outputs="y",
        )
        x = doubles(3)
        assert torch.autograd.gradgradcheck(function, (x,))
        second = torch.func.jacrev(torch.func.grad(lambda x: function(x).sum()))(x.detach())
        assert torch.allclose(second, torch.diag(6 * x.detach()))
        first = torch.autograd.grad(function(x).sum(), x, create_graph=True)[0]
        third = torch.autograd.grad(first.sum(), x, create_graph=True)[0]
        with pytest.raises(UnsupportedError, match="second derivative has no second derivative"):
            third.sum().backward()

    def test_pytorch_may_have_seen_what_backward_did(self) -> None:
        function = ob.autograd(**FIELDS, double_backward=True)
        assert torch.autograd.gradgradcheck(function, (doubles(3), doubles(3)))

    def test_or_not(self) -> None:
        function = ob.autograd(
            forward=lambda x: x**2,
            backward=lambda grad, x: torch.from_numpy(2 * grad.detach().numpy() * x.detach().numpy()),
            saved="x",
            double_backward=True,
        )
        x = doubles(3)
        torch.autograd.grad(function(x).sum(), x)
        with pytest.raises(UnsupportedError, match="PyTorch did not see how"):
            torch.autograd.grad(function(x).sum(), x, create_graph=True)


class TestTransforms:
    def test_reverse_mode_and_batches(self) -> None:
        function = ob.autograd(**FIELDS)
        x, w = torch.randn(5, 3), torch.randn(3)
        batched = torch.func.vmap(function, in_dims=(0, None))(x, w)
        assert all(torch.equal(ours, theirs) for ours, theirs in zip(batched, scaled(x, w), strict=True))
        for place in (0, 1):
            ours = torch.func.jacrev(lambda x: function(x, w)[place])(x)  # noqa: B023
            torch.testing.assert_close(ours, torch.func.jacrev(lambda x: scaled(x, w)[place])(x))  # noqa: B023
        per_sample = torch.func.vmap(torch.func.grad(lambda x: function(x, w)[1].sum()))(x)
        torch.testing.assert_close(per_sample, torch.exp(x * w * 2) * w * 2)

    def test_forward_mode_is_an_error(self) -> None:
        function = ob.autograd(**FIELDS)
        x = torch.randn(3)
        with pytest.raises(NotImplementedError, match="must implement the jvp function"):
            torch.func.jvp(lambda x: function(x, x)[0], (x,), (x,))

    def test_no_slice_says_nothing_about_outputs(self) -> None:
        with pytest.raises(UnsupportedError, match="vmap over no element at all"):
            torch.func.vmap(ob.autograd(**FIELDS))(torch.randn(0, 3), torch.randn(0, 3))
