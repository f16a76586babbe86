"""Fake tensors, tracing, torch.compile and torch.export."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from subprocesses import succeed
from torch._dynamo.testing import CompileCounterWithBackend
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from opbridge.base.errors import CallError
from opbridge.waist.op import OpLibrary

# PyTorch's own use of what it deprecates.
pytestmark = [
    pytest.mark.usefixtures("fresh_compiler"),
    pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.isinstance.treespec, LeafSpec:FutureWarning"),
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning"),
]

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def plain(*shape: int) -> torch.Tensor:
    return torch.randn(shape)


def leaf(*shape: int) -> torch.Tensor:
    return torch.randn(shape, requires_grad=True)


SAMPLES: dict[str, Callable[[], list[Arguments]]] = {
    "identity": lambda: [((plain(3),), {}), ((leaf(2, 3),), {}), ((torch.arange(3),), {})],
    "scaled_add": lambda: [((plain(3), leaf(3)), {"alpha": 0.5}), ((leaf(3, 2).T, plain(2, 3)), {})],
    "product": lambda: [((leaf(3), leaf(3)), {}), ((leaf(3).to(torch.complex64), plain(3).to(torch.complex64)), {})],
    "fused_product": lambda: [((leaf(3), leaf(3)), {})],
    "product_backward": lambda: [((plain(3), plain(3), plain(3)), {}), ((leaf(3), leaf(3), leaf(3)), {})],
    "square": lambda: [((leaf(3),), {})],
    "sine_cosine": lambda: [((leaf(3),), {}), ((plain(0),), {})],
    "exponential": lambda: [((leaf(3),), {})],
    "opaque": lambda: [((plain(3), plain(3)), {})],
    "half_known": lambda: [((leaf(3), plain(3)), {})],
    "scaled_add_quietly_": lambda: [((plain(3), plain(3)), {})],
    "swap_": lambda: [((plain(3), plain(3)), {})],
    "attributes": lambda: [((plain(3),), {}), ((plain(3), 5, 0.25), {"pair": [3, 4], "maybe": 2, "text": "a"})],
    "add_bias": lambda: [((leaf(2, 3), leaf(3)), {}), ((leaf(2, 3), None), {})],
    "weighted_sum": lambda: [(([plain(3), plain(3)], [1.0, 2.0]), {})],
    "sum_present": lambda: [((leaf(3), [plain(3), None]), {})],
    "count_up": lambda: [((3,), {"start": 2.0})],
    "matrix_product": lambda: [((leaf(2, 3), leaf(3, 4)), {})],
    "row_sums": lambda: [((leaf(2, 3),), {}), ((leaf(3, 2).T,), {})],
    "broadcast_add": lambda: [((leaf(4, 1, 3), leaf(2, 1)), {}), ((leaf(3), plain(3).double()), {})],
    "windows": lambda: [((plain(2, 7), 3, 2), {})],
    "pile": lambda: [(([leaf(3), leaf(3)],), {})],
    "largest": lambda: [((plain(2, 3),), {})],
    "scale_columns": lambda: [((leaf(2, 3), leaf(3)), {})],
}


@pytest.mark.cases(12)
@pytest.mark.parametrize("name", SAMPLES)
def test_opcheck(lib: OpLibrary, name: str) -> None:
    for args, kwargs in SAMPLES[name]():
        results = torch.library.opcheck(getattr(lib[name].torch, "default"), args, kwargs)  # noqa: B009
        assert set(results.values()) == {"SUCCESS"}


def test_fake_tensors(lib: OpLibrary) -> None:
    with FakeTensorMode():
        result = lib.matrix_product(torch.empty(2, 3), torch.empty(3, 4))
        assert lib.count_up.torch(5).shape == (5,)
    assert result.shape == (2, 4)
    assert result.device.type == "cpu"


def test_meta_tensors(lib: OpLibrary) -> None:
    value, place = lib.largest(torch.empty(1 << 20, 1 << 20, device="meta"))
    assert (value.device.type, value.shape, place.dtype) == ("meta", (1 << 20,), torch.int64)
    strided = lib.identity(torch.empty(3, 2, device="meta").T)
    assert strided.is_contiguous()


def test_fake_tensors_give_the_errors_of_the_out_rule(lib: OpLibrary) -> None:
    with FakeTensorMode(), pytest.raises(CallError, match="obtest::broadcast_add"):
        lib.broadcast_add(torch.empty(3), torch.empty(4))


def test_symbolic_shapes_stay_symbolic(lib: OpLibrary) -> None:
    trace = make_fx(lambda x: lib.windows(x, 3, 2), tracing_mode="symbolic")(torch.randn(4, 11))
    (windows,) = (node for node in trace.graph.nodes if node.target is torch.ops.obtest.windows.default)
    rows, count, size = windows.meta["val"].shape
    assert isinstance(rows, torch.SymInt)
    assert isinstance(count, torch.SymInt)
    assert size == 3
    x = torch.randn(7, 30)
    torch.testing.assert_close(trace(x), x.unfold(1, 3, 2))


def test_make_fx_records_the_operator(lib: OpLibrary) -> None:
    graph = make_fx(lambda x: lib.product(x, x) * 2)(torch.randn(3)).graph
    assert torch.ops.obtest.product.default in {node.target for node in graph.nodes}


@pytest.mark.parametrize("spelling", ["op(...)", "op.torch(...)", "torch.ops"])
def test_compile_without_graph_breaks(lib: OpLibrary, spelling: str) -> None:
    op = lib.product

    @torch.compile(backend="aot_eager", fullgraph=True)
    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        if spelling == "op(...)":
            return op(x + 1, y=y)
        return op.torch(x + 1, y) if spelling == "op.torch(...)" else torch.ops.obtest.product(x + 1, y)

    x, y = leaf(4), leaf(4)
    result = function(x, y)
    torch.testing.assert_close(result, (x + 1) * y)
    result.sum().backward()
    torch.testing.assert_close(x.grad, y)
    torch.testing.assert_close(y.grad, x + 1)


def test_an_operator_met_first_by_the_compiler(kernels: Path) -> None:
    """Nothing has told PyTorch of the library when the trace begins."""
    program = f"""
import opbridge as ob
lib = ob.load({str(kernels / "ops.yaml")!r})
import torch
function = torch.compile(lambda x: lib.product(x, x) + lib.square.torch(x), backend="aot_eager", fullgraph=True)
assert function(torch.full((2,), 3.0)).tolist() == [18.0, 18.0]
"""
    succeed(program)


def test_one_compilation_serves_all_sizes(lib: OpLibrary) -> None:
    counter = CompileCounterWithBackend("aot_eager")
    function = torch.compile(
        lambda x, y: lib.matrix_product(lib.product(x, x), y), backend=counter, fullgraph=True, dynamic=True
    )
    for rows in (4, 5, 9):
        x, y = torch.randn(rows, 7), torch.randn(7, rows + 1)
        torch.testing.assert_close(function(x, y), (x * x) @ y)
    assert counter.frame_count == 1


def test_marked_dimensions_stay_dynamic(lib: OpLibrary) -> None:
    counter = CompileCounterWithBackend("aot_eager")
    function = torch.compile(lambda x: lib.windows(x, 3, 2), backend=counter, fullgraph=True)
    for columns in (7, 12, 31):
        x = torch.randn(2, columns)
        torch._dynamo.mark_dynamic(x, 1)
        torch.testing.assert_close(function(x), x.unfold(1, 3, 2))
    assert counter.frame_count == 1


def test_inductor_compiles_a_training_step(lib: OpLibrary) -> None:
    def loss(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        sine, cosine = lib.sine_cosine(lib.scale_columns(x, w))
        return (sine * cosine + lib.fused_product(x, x)).square().mean()

    x, w = torch.randn(4, 3), leaf(3)
    (eager,) = torch.autograd.grad(loss(x, w), w)
    (compiled,) = torch.autograd.grad(torch.compile(loss, fullgraph=True)(x, w), w)
    torch.testing.assert_close(compiled, eager)


def test_inductor_keeps_writes(lib: OpLibrary) -> None:
    @torch.compile(fullgraph=True)
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = x * 2
        lib.scaled_add_quietly_(z, y, alpha=3.0)
        lib.scaled_add_quietly_(x, z)
        return z

    x, y = torch.ones(3), torch.ones(3)
    assert function(x, y).tolist() == [5.0, 5.0, 5.0]
    assert x.tolist() == [6.0, 6.0, 6.0]


def test_compiled_transforms(lib: OpLibrary) -> None:
    x = torch.randn(5, 3)

    @torch.compile(backend="aot_eager", fullgraph=True)
    def per_sample(batch: torch.Tensor) -> Any:
        return torch.func.vmap(torch.func.grad(lambda a: lib.product(a, a).sum()))(batch)

    torch.testing.assert_close(per_sample(x), 2 * x)


def test_compiled_modules_hold_operators(lib: OpLibrary) -> None:
    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.op = lib.product

        def forward(self, x: torch.Tensor) -> Any:
            return self.op(x, x)

    compiled = torch.compile(Module(), backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(torch.full((2,), 3.0)), torch.full((2,), 9.0))


class Windows(torch.nn.Module):
    def __init__(self, lib: OpLibrary) -> None:
        super().__init__()
        self.windows = lib.windows
        self.scale = lib.scale_columns
        self.weight = torch.nn.Parameter(torch.arange(3.0))

    def forward(self, x: torch.Tensor) -> Any:
        return self.scale(self.windows(x, 3, 2), self.weight)


@pytest.mark.cases(1)
@pytest.mark.parametrize("strict", [False, True])
def test_export_with_dynamic_shapes(lib: OpLibrary, kernels: Path, tmp_path: Path, strict: bool) -> None:
    x = torch.randn(4, 11)
    shapes = {"x": {0: torch.export.Dim("rows"), 1: torch.export.Dim("columns", min=8)}}
    program = torch.export.export(Windows(lib), (x,), dynamic_shapes=shapes, strict=strict)
    wider = torch.randn(7, 20)
    torch.testing.assert_close(program.module()(wider), wider.unfold(1, 3, 2) * torch.arange(3.0))
    if strict:
        return
    torch.export.save(program, tmp_path / "program.pt2")
    script = f"""
import opbridge as ob, torch
ob.load({str(kernels / "ops.yaml")!r})
program = torch.export.load({str(tmp_path / "program.pt2")!r})
x = torch.randn(7, 20)
torch.testing.assert_close(program.module()(x), x.unfold(1, 3, 2) * torch.arange(3.0))
"""
    succeed(script)


def test_exported_for_training(lib: OpLibrary) -> None:
    program = torch.export.export(Windows(lib), (torch.randn(4, 11),))
    decomposed = program.run_decompositions()
    targets = {node.target for node in decomposed.graph.nodes}
    assert torch.ops.obtest.windows.default in targets
