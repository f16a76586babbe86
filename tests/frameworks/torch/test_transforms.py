"""Forward mode, torch.func and vmap."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.autograd import forward_ad, gradcheck
from torch.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

import opbridge as ob
from opbridge.base.errors import UnsupportedError
from opbridge.waist.op import OpLibrary

# PyTorch's own forward mode still uses it.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")


def real(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


CASES: dict[str, Callable[[OpLibrary], tuple[Callable[..., Any], tuple[Any, ...]]]] = {
    "one formula each": lambda lib: (lambda x, y: lib.scaled_add(x, y, alpha=0.3), (real(3), real(3))),
    "formulas of arguments": lambda lib: (lib.product, (real(2, 3), real(2, 3))),
    "a differentiable backward kernel": lambda lib: (lib.fused_product, (real(2, 3), real(2, 3))),
    "a saved result": lambda lib: (lib.exponential, (real(3),)),
    "complex": lambda lib: (lib.product, (real(3).to(torch.complex128), real(3) * 1j)),
    "several outputs": lambda lib: (lib.sine_cosine, (real(3),)),
    "a matrix product": lambda lib: (lib.matrix_product, (real(2, 3), real(3, 4))),
    "a broadcast": lambda lib: (lib.broadcast_add, (real(4, 1, 3), real(2, 1))),
    "another shape": lambda lib: (lib.row_sums, (real(2, 3),)),
    "an optional tensor": lambda lib: (lib.add_bias, (real(2, 3), real(3))),
    "an absent tensor": lambda lib: (lambda x: lib.add_bias(x, None), (real(2, 3),)),
    "a list": lambda lib: (lambda *xs: lib.pile(xs), (real(2), real(2))),
}


@pytest.mark.filterwarnings("ignore:obtest.* has no `batch` rule")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_forward_mode_and_batched_gradients(lib: OpLibrary, case: Callable[[OpLibrary], Any]) -> None:
    function, inputs = case(lib)
    assert gradcheck(function, inputs, check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True)


def test_tangents_of_both_arguments_add_up(lib: OpLibrary) -> None:
    x, y, dx, dy = torch.randn(4, 3)
    value, tangent = jvp(lib.product, (x, y), (dx, dy))
    torch.testing.assert_close(value, x * y)
    torch.testing.assert_close(tangent, dx * y + x * dy)


def test_dual_numbers(lib: OpLibrary) -> None:
    x, dx = torch.randn(2, 3)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, dx)
        sine, cosine = lib.sine_cosine(dual)
        torch.testing.assert_close(forward_ad.unpack_dual(sine).tangent, x.cos() * dx)
        torch.testing.assert_close(forward_ad.unpack_dual(cosine).tangent, -x.sin() * dx)
        assert forward_ad.unpack_dual(lib.identity(x)).tangent is None


def test_forward_mode_leaves_no_graph(lib: OpLibrary) -> None:
    _, tangent = jvp(lib.product, (torch.ones(2), torch.ones(2)), (torch.ones(2), torch.ones(2)))
    assert not tangent.requires_grad


def test_forward_mode_through_a_backward_kernel_without_derivative_is_an_error(lib: OpLibrary) -> None:
    with pytest.raises(UnsupportedError, match="obtest::square_backward has no derivative"):
        jvp(lib.square, (torch.ones(3),), (torch.ones(3),))


def test_forward_mode_without_derivative_is_an_error(lib: OpLibrary) -> None:
    x = torch.ones(3)
    with pytest.raises(UnsupportedError, match="obtest::opaque has no derivative for 'x'"):
        jvp(lambda a: lib.opaque(a, x), (x,), (x,))


@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node")  # linearize's own
def test_grad_vjp_and_linearize(lib: OpLibrary) -> None:
    x, y = torch.randn(2, 3)
    torch.testing.assert_close(grad(lambda a: lib.product(a, y).sum())(x), y)
    torch.testing.assert_close(grad(lambda a, b: lib.product(a, b).sum(), argnums=(0, 1))(x, y), (y, x))
    value, pull = vjp(lib.exponential, x)
    torch.testing.assert_close(pull(y)[0], y * value)
    _, push = linearize(lambda a: lib.product(a, a), x)
    torch.testing.assert_close(push(y), 2 * x * y)


@pytest.mark.parametrize("transform", [jacrev, jacfwd])
def test_jacobians(lib: OpLibrary, transform: Callable[..., Any]) -> None:
    x, y = torch.randn(2, 3), torch.randn(3, 2)
    ours = transform(lambda a: lib.exponential(lib.broadcast_add(a, y.T)))(x)
    theirs = transform(lambda a: (a + y.T).exp())(x)
    torch.testing.assert_close(ours, theirs)


def test_hessian(lib: OpLibrary) -> None:
    x = torch.randn(3)
    ours = hessian(lambda a: lib.product(lib.exponential(a), a).sum())(x)
    theirs = hessian(lambda a: (a.exp() * a).sum())(x)
    torch.testing.assert_close(ours, theirs)


def test_third_derivative(lib: OpLibrary) -> None:
    def cube(x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = lib.product(x, lib.product(x, x))
        return result

    x = torch.tensor(1.5)
    torch.testing.assert_close(grad(grad(grad(cube)))(x), torch.tensor(6.0))


@pytest.mark.parametrize("name", ["product", "fused_product"])
def test_forward_over_reverse_and_reverse_over_forward(lib: OpLibrary, name: str) -> None:
    def cube(x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = lib[name](x, lib[name](x, x))
        return result

    x, one = torch.tensor(1.5), torch.tensor(1.0)
    torch.testing.assert_close(jvp(grad(cube), (x,), (one,))[1], 6 * x)
    torch.testing.assert_close(grad(lambda a: jvp(cube, (a,), (one,))[1])(x), 6 * x)
    torch.testing.assert_close(jvp(lambda a: jvp(cube, (a,), (one,))[1], (x,), (one,))[1], 6 * x)
    saved_result = grad(lambda a: jvp(lib.exponential, (a,), (one,))[1])(x)
    torch.testing.assert_close(saved_result, x.exp())


BATCHES: dict[str, tuple[Callable[[OpLibrary], Callable[..., Any]], Callable[..., Any], tuple[Any, ...], Any, Any]] = {
    "both": (lambda lib: lib.product, torch.mul, ((5, 3), (5, 3)), 0, 0),
    "one": (lambda lib: lib.product, torch.mul, ((5, 3), (3,)), (0, None), 0),
    "another dimension": (lambda lib: lib.product, torch.mul, ((3, 5), (5, 3)), (1, 0), 0),
    "a negative dimension": (lambda lib: lib.product, torch.mul, ((3, 5), (5, 3)), (-1, 0), 1),
    "rank 0": (lambda lib: lib.product, torch.mul, ((5,), (5,)), 0, 0),
    "no slices": (lambda lib: lib.product, torch.mul, ((0, 3), (0, 3)), 0, 0),
    "broadcast of unequal ranks": (lambda lib: lib.broadcast_add, torch.add, ((5, 2, 3), (5, 3)), 0, 0),
    "broadcast with one batched": (lambda lib: lib.broadcast_add, torch.add, ((2, 3), (5, 3)), (None, 0), 0),
    "a pattern": (lambda lib: lib.scale_columns, torch.mul, ((5, 2, 3), (3,)), (0, None), 0),
    "a pattern that does not cover": (lambda lib: lib.scale_columns, torch.mul, ((5, 2, 3), (5, 3)), 0, 0),
    "several outputs": (lambda lib: lib.sine_cosine, lambda x: (x.sin(), x.cos()), ((5, 3),), 0, 0),
    "another rank": (lambda lib: lambda x: lib.windows(x, 2), lambda x: x.unfold(-1, 2, 1), ((5, 4),), 0, 0),
    "an absent tensor": (lambda lib: lambda x: lib.add_bias(x, None), lambda x: x * 1, ((5, 2, 3),), 0, 0),
    "a list": (lambda lib: lambda x, y: lib.pile([x, y]), lambda x, y: torch.stack([x, y]), ((5, 3), (5, 3)), 0, 0),
    "a shape rule": (lambda lib: lib.matrix_product, torch.matmul, ((5, 2, 3), (3, 4)), (0, None), 0),
}


@pytest.mark.filterwarnings("ignore:obtest.* has no `batch` rule")
@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES.keys())
def test_vmap(lib: OpLibrary, batch: tuple[Any, ...]) -> None:
    op, reference, shapes, in_dims, out_dims = batch
    inputs = [torch.randn(shape) for shape in shapes]
    ours = vmap(op(lib), in_dims=in_dims, out_dims=out_dims)(*inputs)
    theirs = vmap(reference, in_dims=in_dims, out_dims=out_dims)(*inputs)
    torch.testing.assert_close(ours, theirs)


@pytest.mark.filterwarnings("ignore:obtest.* has no `batch` rule")
@pytest.mark.parametrize("name", ["product", "fused_product", "opaque"])
def test_nested_vmap(lib: OpLibrary, name: str) -> None:
    x, y = torch.randn(2, 5, 3), torch.randn(4, 3)
    ours = vmap(vmap(lib[name], (0, None)), (None, 0))(x[0], y)
    torch.testing.assert_close(ours, x[0][None] * y[:, None])
    crossed = vmap(vmap(lib[name], (None, 0)), (0, None))(x[0], y)
    torch.testing.assert_close(crossed, x[0][:, None] * y[None])


@pytest.mark.parametrize("name", ["product", "fused_product"])
def test_per_sample_gradients(lib: OpLibrary, name: str) -> None:
    weight, samples = torch.randn(3), torch.randn(5, 3)
    loss = lambda w, s: lib.exponential(lib[name](w, s)).sum()  # noqa: E731
    ours = vmap(grad(loss), in_dims=(None, 0))(weight, samples)
    torch.testing.assert_close(ours, samples * (weight * samples).exp())


def test_grad_of_vmap_and_vmap_of_jvp(lib: OpLibrary) -> None:
    x, y = torch.randn(5, 3), torch.randn(3)
    torch.testing.assert_close(grad(lambda b: vmap(lib.product, (0, None))(x, b).sum())(y), x.sum(0))
    tangents = vmap(lambda a: jvp(lib.exponential, (a,), (torch.ones(3),))[1])(x)
    torch.testing.assert_close(tangents, x.exp())
    _, tangent = jvp(lambda a: vmap(lib.product, (0, None))(a, y), (x,), (torch.ones_like(x),))
    torch.testing.assert_close(tangent, y.expand(5, 3))


def test_backward_through_vmap(lib: OpLibrary) -> None:
    x, y = torch.randn(5, 3, requires_grad=True), torch.randn(3, requires_grad=True)
    vmap(lib.product, (0, None))(x, y).sum().backward()
    torch.testing.assert_close(x.grad, y.expand(5, 3))
    torch.testing.assert_close(y.grad, x.sum(0))


def test_a_batched_operator_calls_its_kernel_once(lib: OpLibrary) -> None:
    """The loop would meet a kernel with the shape of one slice; one call meets the whole batch."""
    with torch.profiler.profile() as profile:
        vmap(lib.product)(torch.randn(5, 3), torch.randn(5, 3))
        vmap(lib.scale_columns, (0, None))(torch.randn(5, 2, 3), torch.randn(3))
    calls = [event.name for event in profile.events() if event.name.startswith("obtest::")]
    assert len(calls) <= 4


def test_an_operator_without_rule_loops_and_says_so_once(kernels: Path) -> None:
    x = torch.randn(5, 3)
    op = ob.load(kernels / "elementwise.cpp", schema="obtest_loop::square(Tensor x) -> Tensor", out="x")
    with pytest.warns(UserWarning, match=r"obtest_loop::square has no `batch` rule .* 5 slices"):
        torch.testing.assert_close(vmap(op)(x), x * x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.testing.assert_close(vmap(op)(x), x * x)
