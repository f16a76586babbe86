"""Transforms on top of each other, checkpoints, autocast, and how often torch.compile compiles."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, stack_module_state, vmap
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

import opbridge as ob
from opbridge.waist.op import OpLibrary

# PyTorch's own use of what it deprecates.
pytestmark = [
    pytest.mark.usefixtures("fresh_compiler"),
    pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.isinstance.treespec, LeafSpec:FutureWarning"),
]

Function = Callable[..., Any]


def rows(function: Function) -> Function:
    """The function for each row of its first argument, with one second argument for all: the inner vmap."""
    return lambda samples, weight: vmap(function, (0, None))(samples, weight)


def energy(function: Function) -> Function:
    return lambda samples, weight: rows(function)(samples, weight).pow(3).sum()


STACKS: dict[str, Callable[[Function], Function]] = {
    "vmap of grad of vmap": lambda f: vmap(grad(energy(f), argnums=1), (0, None)),
    "grad of vmap of grad of vmap": lambda f: (
        lambda x, w: grad(lambda v: vmap(grad(energy(f), argnums=1), (0, None))(x, v).square().sum())(w)
    ),
    "vmap of jvp of vmap": lambda f: (
        lambda x, w: vmap(lambda s: jvp(lambda v: rows(f)(s, v), (w,), (torch.ones_like(w),))[1])(x)
    ),
    "vmap of hessian of vmap": lambda f: vmap(hessian(energy(f), argnums=1), (0, None)),
    "vmap of jacfwd of jacrev of vmap": lambda f: vmap(jacfwd(jacrev(energy(f), argnums=1), argnums=1), (0, None)),
    "vmap of vmap of grad": lambda f: vmap(
        vmap(grad(lambda s, v: f(s, v).pow(3).sum(), argnums=1), (0, None)), (0, None)
    ),
    "vmap in chunks of grad": lambda f: vmap(grad(energy(f), argnums=1), (0, None), chunk_size=3),
}


BEYOND_THE_COMPILER = {"vmap of hessian of vmap", "vmap of jacfwd of jacrev of vmap"}
"""PyTorch does not compile these for its own operators either: forward mode inside vmap inside forward mode."""


class TestStacks:
    @pytest.mark.parametrize("stack", STACKS.values(), ids=STACKS.keys())
    @pytest.mark.parametrize("name", ["product", "fused_product", "scale_columns", "broadcast_add"])
    def test_eager(self, lib: OpLibrary, name: str, stack: Callable[[Function], Function]) -> None:
        x, weight = torch.randn(4, 5, 3, dtype=torch.float64), torch.randn(3, dtype=torch.float64)
        reference = torch.add if name == "broadcast_add" else torch.mul
        torch.testing.assert_close(stack(lib[name])(x, weight), stack(reference)(x, weight))

    @pytest.mark.parametrize("name", sorted(STACKS.keys() - BEYOND_THE_COMPILER))
    def test_compiled(self, lib: OpLibrary, name: str) -> None:
        x, weight = torch.randn(4, 5, 3, dtype=torch.float64), torch.randn(3, dtype=torch.float64)
        compiled = torch.compile(STACKS[name](lib.product), backend="aot_eager", fullgraph=True)
        torch.testing.assert_close(compiled(x, weight), STACKS[name](torch.mul)(x, weight))


def test_an_ensemble_of_modules(lib: OpLibrary) -> None:
    class Scale(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(3))

        def forward(self, x: torch.Tensor) -> Any:
            return lib.exponential(lib.scale_columns(x, self.weight))

    models = [Scale() for _ in range(4)]
    parameters, buffers = stack_module_state(models)
    x = torch.randn(2, 3)
    together = vmap(lambda p, b: functional_call(models[0], (p, b), (x,)))(parameters, buffers)
    torch.testing.assert_close(together, torch.stack([model(x) for model in models]))


class Calls(TorchDispatchMode):
    """Counts the calls of an operator."""

    def __init__(self, counted: Any) -> None:
        super().__init__()
        self.counted, self.count = counted, 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += func is self.counted
        return func(*args, **(kwargs or {}))


class TestCheckpoints:
    @pytest.mark.parametrize("reentrant", [True, False])
    def test_what_is_not_kept_is_computed_again(self, lib: OpLibrary, reentrant: bool) -> None:
        x, y = torch.randn(2, 3)
        x.requires_grad_()
        with Calls(torch.ops.obtest.exponential.default) as calls:
            result = checkpoint(lambda a, b: lib.exponential(lib.product(a, b)), x, y, use_reentrant=reentrant)
            result.sum().backward()
        torch.testing.assert_close(x.grad, y * (x * y).exp())
        assert calls.count == 2

    @pytest.mark.parametrize(("kept", "expected"), [(True, 1), (False, 2)])
    def test_an_operator_may_be_kept_by_its_name(self, lib: OpLibrary, kept: bool, expected: int) -> None:
        exponential = torch.ops.obtest.exponential.default

        def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if kept and op is exponential else CheckpointPolicy.PREFER_RECOMPUTE

        contexts = functools.partial(create_selective_checkpoint_contexts, policy)
        x = torch.tensor([-1.5, 0.2, 1.0], requires_grad=True)
        with Calls(exponential) as calls:
            inside = lambda a: lib.exponential(lib.product(a, a)).sin()  # noqa: E731
            checkpoint(inside, x, use_reentrant=False, context_fn=contexts).sum().backward()
        torch.testing.assert_close(x.grad, 2 * x * (x * x).exp() * (x * x).exp().cos())
        assert calls.count == expected

    def test_compiled(self, lib: OpLibrary) -> None:
        @torch.compile(backend="aot_eager", fullgraph=True)
        def function(x: torch.Tensor) -> Any:
            return checkpoint(lambda a: lib.exponential(lib.product(a, a)), x, use_reentrant=False)

        x = torch.randn(3, requires_grad=True)
        function(x).sum().backward()
        torch.testing.assert_close(x.grad, 2 * x * (x * x).exp())

    def test_what_is_saved_may_be_kept_elsewhere(self, lib: OpLibrary) -> None:
        x = torch.randn(3, requires_grad=True)
        with torch.autograd.graph.save_on_cpu():
            lib.exponential(lib.product(x, x)).sum().backward()
        torch.testing.assert_close(x.grad, 2 * x * (x * x).exp())


class TestAutocast:
    """What a call computes in under autocast: in what it is given, or in the widest of that."""

    @pytest.mark.parametrize(
        ("given", "computed"),
        [
            ((torch.bfloat16, torch.bfloat16), torch.bfloat16),
            ((torch.float32, torch.float32), torch.float32),
            ((torch.bfloat16, torch.float32), torch.float32),
            ((torch.float16, torch.bfloat16), torch.float32),
            ((torch.float64, torch.float64), torch.float64),
        ],
    )
    @pytest.mark.parametrize("way", ["eager", "compiled", "vmap"])
    def test_the_dtype(self, lib: OpLibrary, given: Any, computed: torch.dtype, way: str) -> None:
        call: Function = lib.scaled_add
        if way == "compiled":
            call = torch.compile(lambda a, b: lib.scaled_add(a, b), backend="aot_eager", fullgraph=True)
        if way == "vmap":
            call = vmap(lib.scaled_add)
        x, y = (torch.randn(2, 3).to(dtype) for dtype in given)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            result = call(x, y)
        assert result.dtype is computed
        torch.testing.assert_close(result, (x + y).to(computed))

    @pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
    def test_gradients_have_the_dtypes_of_what_they_are_for(self, lib: OpLibrary, compiled: bool) -> None:
        layer, shift = torch.nn.Linear(3, 3), torch.nn.Parameter(torch.ones(2, 3))

        def loss(x: torch.Tensor) -> torch.Tensor:
            hidden = layer(x)
            assert hidden.dtype is torch.bfloat16
            return lib.exponential(lib.scaled_add(hidden, shift)).sum()

        with torch.autocast("cpu", dtype=torch.bfloat16):
            step = torch.compile(loss, backend="aot_eager", fullgraph=True) if compiled else loss
            step(torch.randn(2, 3)).backward()
        assert {p.grad.dtype for p in (layer.weight, shift) if p.grad is not None} == {torch.float32}

    def test_a_checkpoint_computes_again_in_what_it_computed_in(self, lib: OpLibrary) -> None:
        layer = torch.nn.Linear(3, 3)
        x = torch.randn(2, 3)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            result = checkpoint(lambda x: lib.scaled_add(layer(x), layer(x)), x, use_reentrant=False)
        assert result.dtype is torch.bfloat16
        result.float().sum().backward()
        torch.testing.assert_close(layer.weight.grad, 2 * x.sum(0).expand(3, 3), rtol=0.02, atol=0.02)


Shapes = Callable[[int], list[tuple[int, ...]]]


def two(n: int) -> list[tuple[int, ...]]:
    return [(n, n + 1), (n, n + 1)]


PROGRAMS: dict[str, tuple[Callable[[OpLibrary], Function], Shapes]] = {
    "elementwise": (lambda lib: lib.product, two),
    "a kernel for the gradient": (lambda lib: lib.fused_product, two),
    "a shape rule": (lambda lib: lib.matrix_product, lambda n: [(n, n + 1), (n + 1, n + 2)]),
    "a broadcast": (lambda lib: lib.broadcast_add, lambda n: [(n, n + 1), (n + 1,)]),
    "several outputs": (lambda lib: lambda x: torch.cat(lib.sine_cosine(x)), lambda n: [(n, n + 1)]),
    "a list": (lambda lib: lambda *xs: lib.pile(xs), two),
    "an optional tensor": (lambda lib: lib.add_bias, lambda n: [(n, n + 1), (n + 1,)]),
}
SIZES = (4, 7, 12, 31)


class TestCompilations:
    @pytest.mark.parametrize(("program", "shapes"), PROGRAMS.values(), ids=PROGRAMS.keys())
    def test_a_training_step_for_all_sizes_is_compiled_once(
        self, lib: OpLibrary, program: Callable[[OpLibrary], Function], shapes: Shapes
    ) -> None:
        function, counter = program(lib), CompileCounterWithBackend("aot_eager")
        step = torch.compile(
            lambda *given: function(*given).square().sum(), backend=counter, fullgraph=True, dynamic=True
        )
        for n in SIZES:
            tensors = [torch.randn(shape, requires_grad=True) for shape in shapes(n)]
            step(*tensors).backward()
            assert all(tensor.grad is not None for tensor in tensors)
        assert counter.frame_count == 1

    def test_nothing_marked_costs_one_more(self, lib: OpLibrary) -> None:
        """PyTorch takes sizes for fixed until they change."""
        counter = CompileCounterWithBackend("aot_eager")
        function = torch.compile(lambda x: lib.windows(lib.product(x, x), 3, 2), backend=counter, fullgraph=True)
        for n in SIZES:
            function(torch.randn(n, 2 * n))
        assert counter.frame_count == 2

    @pytest.mark.parametrize(("kind", "expected"), [("SymInt", 1), ("int", 4)])
    def test_a_changing_attribute(self, kernels: Path, kind: str, expected: int) -> None:
        """What the schema calls an int is a constant of what is compiled, as it is for PyTorch's own operators."""
        windows = ob.load(
            kernels / "shapes.cpp",
            schema=f"obtest_{kind.lower()}::windows(Tensor x, {kind} size, {kind} step=1) -> Tensor",
            out={"shape": "x.shape[:-1] + [(x.shape[-1] - size) // step + 1, size]", "dtype": "x.dtype"},
        )
        counter = CompileCounterWithBackend("aot_eager")
        function = torch.compile(lambda x, n: windows(x, n, 2), backend=counter, fullgraph=True, dynamic=True)
        x = torch.randn(2, 40)
        for size in (3, 4, 7, 9):
            torch.testing.assert_close(function(x, size), x.unfold(1, size, 2))
        assert counter.frame_count == expected

    def test_transforms_too(self, lib: OpLibrary) -> None:
        counter = CompileCounterWithBackend("aot_eager")
        per_sample = vmap(grad(lambda s, w: lib.scale_columns(s, w).square().sum(), argnums=1), (0, None))
        function = torch.compile(per_sample, backend=counter, fullgraph=True, dynamic=True)
        for n in SIZES:
            x, w = torch.randn(n, n + 2, 5), torch.randn(5)
            torch.testing.assert_close(function(x, w), 2 * (x.square() * w).sum(1))
        assert counter.frame_count == 1
