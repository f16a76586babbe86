"""Reverse mode: what backward, double backward, hooks and checkpoints see of an operator."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.utils.checkpoint import checkpoint

from opbridge.base.errors import UnsupportedError
from opbridge.waist.op import OpLibrary


def real(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


def complex_(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.complex128, requires_grad=True)


DIFFERENTIABLE: dict[str, Callable[[OpLibrary], tuple[Callable[..., Any], tuple[Any, ...]]]] = {
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
    "a list": lambda lib: (lambda *xs: lib.pile(xs), (real(2), real(2), real(2))),
    "list items without grad": lambda lib: (lambda x: lib.pile([x, torch.ones(2).double(), x]), (real(2),)),
    "a view": lambda lib: (lambda x: lib.product(x.T, x.T[:, :3]), (real(3, 2),)),
    "the same tensor twice": lambda lib: (lambda x: lib.product(x, x), (real(3),)),
    "no elements": lambda lib: (lib.product, (real(0, 2), real(0, 2))),
    "rank 0": lambda lib: (lib.product, (real(), real())),
}


@pytest.mark.parametrize("case", DIFFERENTIABLE.values(), ids=DIFFERENTIABLE.keys())
def test_derivatives_are_exact_to_the_second_order(lib: OpLibrary, case: Callable[[OpLibrary], Any]) -> None:
    function, inputs = case(lib)
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs)


def test_a_gradient_for_those_who_ask(lib: OpLibrary) -> None:
    x, y = torch.randn(2, 3)
    y.requires_grad_()
    result = lib.product(x, y)
    assert result.requires_grad
    result.sum().backward()
    assert x.grad is None
    torch.testing.assert_close(y.grad, x)
    assert not lib.product(x, x).requires_grad


def test_graph_nodes_carry_the_operators_name(lib: OpLibrary) -> None:
    result = lib.scaled_add(real(2), real(2))
    assert result.grad_fn is not None
    assert result.grad_fn.name() == "ScaledAddBackward"
    assert len(result.grad_fn.next_functions) == 2


def test_integer_outputs_do_not_require_grad(lib: OpLibrary) -> None:
    value, place = lib.largest(torch.randn(2, 3))
    assert not place.requires_grad
    assert not value.requires_grad


def test_integer_inputs_have_no_gradient(lib: OpLibrary) -> None:
    assert not lib.identity(torch.arange(3)).requires_grad


def test_gradients_take_the_dtype_of_their_argument(lib: OpLibrary) -> None:
    x, y = torch.randn(3, requires_grad=True), torch.randn(3, dtype=torch.float64, requires_grad=True)
    lib.broadcast_add(x, y).sum().backward()
    assert (x.grad.dtype, y.grad.dtype) == (torch.float32, torch.float64)  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["opaque", "half_known"])
def test_a_missing_derivative_is_an_error_in_backward_alone(lib: OpLibrary, name: str) -> None:
    x, y = real(3), real(3)
    result = lib[name](x, y).sum()
    with pytest.raises(UnsupportedError, match=rf"obtest::{name} has no derivative for '[xy]'; add one"):
        result.backward()


def test_a_derivative_that_nobody_asks_for_may_be_missing(lib: OpLibrary) -> None:
    x, y = real(3), real(3)
    lib.half_known(x, y.detach()).sum().backward()
    torch.testing.assert_close(x.grad, y.detach())
    (gradient,) = torch.autograd.grad(lib.half_known(x, y).sum(), x)
    torch.testing.assert_close(gradient, y)


def test_a_backward_kernel_without_derivative_ends_the_chain_with_an_error(lib: OpLibrary) -> None:
    x = real(3)
    (gradient,) = torch.autograd.grad(lib.square(x).sum(), x, create_graph=True)
    torch.testing.assert_close(gradient, 2 * x)
    assert gradient.requires_grad
    with pytest.raises(UnsupportedError, match="obtest::square_backward has no derivative"):
        gradient.sum().backward()


def test_backward_twice_needs_retain_graph(lib: OpLibrary) -> None:
    x, y = real(3), real(3)
    result = lib.product(x, y).sum()
    result.backward(retain_graph=True)
    result.backward()
    torch.testing.assert_close(x.grad, 2 * y)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        result.backward()


def test_outputs_without_gradient_count_as_zero(lib: OpLibrary) -> None:
    x = real(3)
    sine, cosine = lib.sine_cosine(x)
    (sine.sum() + cosine.detach().sum()).backward()
    torch.testing.assert_close(x.grad, x.cos())


def test_hooks(lib: OpLibrary) -> None:
    seen: list[str] = []
    x, y = real(3), real(3)
    result = lib.product(x, y)
    assert result.grad_fn is not None
    result.grad_fn.register_prehook(lambda grads: seen.append(f"before {len(grads)}"))
    result.grad_fn.register_hook(lambda inputs, outputs: seen.append(f"after {len(inputs)} {len(outputs)}"))
    result.register_hook(lambda grad: grad * 2)
    x.register_post_accumulate_grad_hook(lambda tensor: seen.append("accumulated"))
    result.sum().backward()
    torch.testing.assert_close(x.grad, 2 * y)
    assert sorted(seen) == ["accumulated", "after 2 1", "before 1"]


def test_only_what_the_formulas_read_is_saved(lib: OpLibrary) -> None:
    def saved(function: Callable[[], torch.Tensor]) -> list[torch.Tensor]:
        kept: list[torch.Tensor] = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
            function()
        return kept

    x, y = real(3), real(3)
    assert saved(lambda: lib.scaled_add(x, y)) == []
    assert [t.data_ptr() for t in saved(lambda: lib.product(x, y))] == [x.data_ptr(), y.data_ptr()]
    result: list[torch.Tensor] = []
    (kept,) = saved(lambda: result.append(lib.exponential(x)) or result[0])
    assert kept.data_ptr() == result[0].data_ptr()


def test_saved_tensors_hooks_replace_what_is_saved(lib: OpLibrary) -> None:
    x, y = real(3), real(3)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach() * 10, lambda t: t):
        result = lib.product(x, y)
    result.sum().backward()
    torch.testing.assert_close(x.grad, 10 * y.detach())


def test_save_on_cpu(lib: OpLibrary) -> None:
    x, y = real(3), real(3)
    with torch.autograd.graph.save_on_cpu():
        result = lib.exponential(lib.product(x, y))
    result.sum().backward()
    torch.testing.assert_close(x.grad, y * (x * y).exp())


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoints_compute_again(lib: OpLibrary, reentrant: bool) -> None:
    x, y = real(3), real(3)
    calls: list[int] = []

    def block(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        result: torch.Tensor = lib.exponential(lib.product(a, b))
        return result

    checkpoint(block, x, y, use_reentrant=reentrant).sum().backward()
    assert len(calls) == 2
    torch.testing.assert_close(x.grad, y * (x * y).exp())


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
def test_anomaly_mode_shows_the_forward_call(lib: OpLibrary) -> None:
    x = torch.tensor([-1.0], requires_grad=True)
    with torch.autograd.detect_anomaly(check_nan=True):
        result = lib.product(torch.sqrt(x), torch.ones(1))
        with pytest.raises(RuntimeError, match="returned nan values"):
            result.backward()


def test_backward_frees_what_was_saved(lib: OpLibrary) -> None:
    x, y = real(3), real(3)
    inner = lib.exponential(x)
    alive = weakref.ref(inner)
    result = lib.product(inner, y).sum()
    del inner
    assert alive() is not None or result.requires_grad
    result.backward()
    gc.collect()
    assert alive() is None


def test_a_graph_is_freed_without_backward(lib: OpLibrary) -> None:
    x = real(1000)
    token = lib.identity(x.detach())
    alive = weakref.ref(token)
    result = lib.exponential(lib.product(x, token))
    del token
    del result
    gc.collect()
    assert alive() is None


def test_a_result_that_is_saved_makes_no_cycle(lib: OpLibrary) -> None:
    x = real(3)
    result = lib.exponential(x)
    alive = weakref.ref(result)
    gc.disable()
    try:
        del result
        assert alive() is None
    finally:
        gc.enable()


def test_backward_from_several_threads(lib: OpLibrary) -> None:
    x, y = real(3), real(3)
    results = [lib.product(x, y).sum() for _ in range(8)]
    gradients: list[torch.Tensor] = []

    def work(result: torch.Tensor) -> None:
        gradients.append(torch.autograd.grad(result, x)[0])

    threads = [threading.Thread(target=work, args=(result,)) for result in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(gradients) == 8
    assert all(torch.equal(gradient, y) for gradient in gradients)


def test_one_graph_from_several_threads(lib: OpLibrary) -> None:
    x, y = real(3), real(3)
    shared = lib.product(x, y)
    gradients: list[torch.Tensor] = []

    def work() -> None:
        gradients.append(torch.autograd.grad(shared.sum(), x, retain_graph=True)[0])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(torch.equal(gradient, y) for gradient in gradients)
    assert len(gradients) == 8


def test_parameters_train(lib: OpLibrary) -> None:
    class Scale(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = lib.scale_columns(x, self.weight)
            return result

    model = Scale()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, target = torch.randn(16, 3), torch.tensor([2.0, -1.0, 0.5])
    for _ in range(200):
        optimizer.zero_grad()
        (model(x) - x * target).square().mean().backward()
        optimizer.step()
    torch.testing.assert_close(model.weight.detach(), target, atol=0.05, rtol=0)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
def test_forward_mode_takes_a_list_with_holes(lib: OpLibrary) -> None:
    x, other = (torch.randn(3, dtype=torch.float64) for _ in range(2))
    assert gradcheck(lambda x: lib.sum_present(x, [other, None]), x.requires_grad_(), check_forward_ad=True)
