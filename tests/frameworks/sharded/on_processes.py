"""Operators on DTensors.  Run by test_torch_sharding.py: every process of torchrun's goes through the same tests."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

import opbridge as ob
from opbridge.base.errors import CallError, RuleError
from opbridge.waist.op import OpLibrary

# Before DTensor is imported: it is told of the operators when it is.
LIB: OpLibrary = ob.load(Path(__file__).parent / "ops.yaml")
LIB.scaled_mul(torch.ones(1), torch.ones(1))

from torch.distributed.device_mesh import DeviceMesh, init_device_mesh  # noqa: E402
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard, distribute_tensor  # noqa: E402
from torch.distributed.tensor.debug import CommDebugMode  # noqa: E402

from opbridge.waist.rules.sharding import ShardingWarning  # noqa: E402

Put = Callable[..., Any]
Placements = tuple[Placement, ...]
RANDOM = torch.Generator().manual_seed(0)
X, Y, W, G = (torch.randn(*shape, generator=RANDOM) for shape in ((8, 12), (8, 12), (12, 4), (12,)))
S0, S1, R = Shard(0), Shard(1), Replicate()


@pytest.fixture(scope="session", autouse=True)
def _group() -> Iterator[None]:
    dist.init_process_group("gloo")
    yield
    dist.destroy_process_group()


@pytest.fixture(scope="session")
def line(_group: None) -> DeviceMesh:
    return init_device_mesh("cpu", (dist.get_world_size(),))


@pytest.fixture(scope="session")
def grid(_group: None) -> DeviceMesh:
    return init_device_mesh("cpu", (2, dist.get_world_size() // 2))


@pytest.fixture
def put(line: DeviceMesh) -> Put:
    """A copy of a tensor, divided over the processes."""
    return lambda value, *placements, mesh=line: distribute_tensor(value.clone(), mesh, placements)


def counted(function: Callable[[], Any]) -> tuple[Any, dict[str, int]]:
    """What a function returns, and how its processes communicated."""
    with CommDebugMode() as mode:
        result = function()
    return result, {str(name).rpartition(".")[2]: count for name, count in mode.get_comm_counts().items()}


def same(got: Any, expected: torch.Tensor) -> None:
    torch.testing.assert_close(got.full_tensor(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("placement", [S0, S1, R])
def test_elementwise_stays_where_its_inputs_are(put: Put, placement: Placement) -> None:
    x, y = put(X, placement).requires_grad_(), put(Y, placement)
    out, communication = counted(lambda: LIB.scaled_mul(x, y, alpha=2.0))
    assert (out.placements, communication) == ((placement,), {})
    _, communication = counted(lambda: out.sum().backward())
    assert (x.grad.placements, communication) == ((placement,), {})
    same(out, 2 * X * Y)
    same(x.grad, 2 * Y)
    same(LIB.scaled_mul(x, y, alpha=3.0), 3 * X * Y)


def test_on_a_grid_each_dimension_divides_for_itself(put: Put, grid: DeviceMesh) -> None:
    x, y = put(X, S0, S1, mesh=grid), put(Y, S0, S1, mesh=grid)
    out, communication = counted(lambda: LIB.scaled_mul(x, y))
    assert (out.placements, communication) == ((S0, S1), {})
    same(out, X * Y)
    out, communication = counted(lambda: LIB.product(x, put(W, R, S0, mesh=grid)))
    assert out.placements == (S0, Partial("sum"))
    same(out, X @ W)


def test_what_is_everywhere_costs_nothing_to_divide(put: Put) -> None:
    x, y = put(X, S0), put(Y, R)
    out, communication = counted(lambda: LIB.scaled_mul(x, y))
    assert (out.placements, communication) == ((S0,), {})
    same(out, X * Y)


@pytest.mark.parametrize(
    ("x", "w", "out"), [(S0, R, S0), (R, S1, S1), (S1, S0, Partial("sum")), (S1, R, Partial("sum")), (R, R, R)]
)
def test_a_product_and_its_gradients(put: Put, x: Placement, w: Placement, out: Placement) -> None:
    left, right = put(X, x).requires_grad_(), put(W, w).requires_grad_()
    made, communication = counted(lambda: LIB.product(left, right))
    assert (made.placements, communication) == ((out,), {})
    same(made, X @ W)
    made.redistribute(placements=[R]).pow(2).sum().backward()
    same(left.grad, 2 * (X @ W) @ W.T)
    same(right.grad, X.T @ (2 * X @ W))


@pytest.mark.parametrize("shape", [(8, 12), (4, 2, 12)])
def test_a_norm_with_a_backward_kernel(put: Put, shape: tuple[int, ...]) -> None:
    x, weight = put(X.reshape(shape), S0).requires_grad_(), put(G, R).requires_grad_()
    (out, _), communication = counted(lambda: LIB.norm(x, weight))
    assert (out.placements, communication) == ((S0,), {})
    _, communication = counted(lambda: (out * out).sum().backward())
    assert communication == {}
    assert weight.grad.placements == (Partial("sum"),)
    alone = [X.reshape(shape).clone().requires_grad_(), G.clone().requires_grad_()]
    (LIB.norm(*alone)[0] ** 2).sum().backward()
    same(x.grad, alone[0].grad)
    same(weight.grad, alone[1].grad)


def test_a_whole_dimension_is_gathered_where_it_is_divided(put: Put) -> None:
    x = put(X, S1)
    (out, rstd), communication = counted(lambda: LIB.norm(x))
    assert communication == {"all_gather_into_tensor": 1}
    same(out, LIB.norm(X)[0])
    same(rstd, LIB.norm(X)[1])


def test_a_maximum_of_maxima(put: Put) -> None:
    x = put(X, S1)
    out, communication = counted(lambda: LIB.largest(x))
    assert (out.placements, communication) == ((Partial("max"),), {})
    same(out, X.amax(1))


def test_nothing_has_no_maximum(put: Put) -> None:
    five = X[:, :5].contiguous()
    same(LIB.largest(put(five, S1)), five.amax(1))


def test_a_partial_sum_is_summed_before_it_is_multiplied(put: Put, line: DeviceMesh) -> None:
    part = DTensor.from_local(X / line.size(), line, [Partial("sum")])
    same(LIB.scaled_mul(part, part), X * X)


def test_parts_of_unequal_size(put: Put) -> None:
    seven = X[:7]
    x = put(seven, S0)
    out, communication = counted(lambda: LIB.scaled_mul(x, x))
    assert (out.placements, communication) == ((S0,), {})
    same(out, seven * seven)


def test_a_tensor_by_keyword_alone_is_moved_too(put: Put) -> None:
    x = put(X, S0)
    for placement in (S0, S1, R):
        other = put(Y, placement)
        same(LIB.add_by_name(x, other=other, alpha=2.0), X + 2 * Y)
    y = put(Y, S0)
    assert counted(lambda: LIB.add_by_name(x, other=y))[1] == {}


def test_a_list(put: Put) -> None:
    xs = [put(X, S0), put(Y, S0), put(Y, R)]
    out, communication = counted(lambda: LIB.total(xs))
    assert (out.placements, communication) == ((S0,), {})
    same(out, X + 2 * Y)
    same(LIB.total([put(X, S0), put(Y, S1)]), X + Y)


def test_what_is_written_to_stays_where_it_is(put: Put) -> None:
    x, factor = put(X, S0), put(Y[:, 0].contiguous(), R)
    version = x._version
    out, communication = counted(lambda: LIB.scale_rows_(x, factor))
    assert out is x
    assert x._version > version
    assert communication == {}
    same(x, X * Y[:, :1])
    with pytest.raises(CallError, match=r"argument 'x' is written to and lies as \(Shard\(dim=1\),\)"):
        LIB.scale_rows_(put(X, S1), factor)


def test_writing_has_a_gradient(put: Put) -> None:
    leaf, factor = put(X, S0).requires_grad_(), put(Y[:, 0].contiguous(), S0)
    x = leaf.clone()
    assert LIB.scale_rows_(x, factor) is x
    (x * x).sum().backward()
    same(leaf.grad, 2 * X * Y[:, :1] ** 2)


def test_a_process_outside_of_the_mesh_takes_no_part() -> None:
    alone = DeviceMesh("cpu", [0])
    x = distribute_tensor(X, alone, [S0])
    out = LIB.add_by_name(x, other=x)
    assert out.shape == X.shape
    if dist.get_rank() == 0:
        same(out, 2 * X)


def test_several_that_are_written_to(put: Put) -> None:
    x, y = put(X, S1), put(Y, S1)
    assert LIB.swap(x, y) is None
    same(x, Y)
    same(y, X)
    with pytest.raises(CallError, match="move it to another placement"):
        LIB.swap(x, put(Y, R))


def test_out(put: Put) -> None:
    out = put(torch.zeros_like(X), S0)
    assert LIB["scaled.out"](put(X, R), alpha=3.0, out=out) is out
    same(out, 3 * X)


def test_without_a_rule_every_process_has_the_whole_and_says_so_once(put: Put) -> None:
    x, y = put(X, S0), put(Y, S0)
    with pytest.warns(ShardingWarning, match="nothing says how sharded::unruled may be divided"):
        out = LIB.unruled(x, y)
    assert out.placements == (R,)
    same(out, X * Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LIB.unruled(put(X, S1), y)


COPY = """
#include <opbridge/kernel.h>
void copy(ob::In<float> x, ob::Out<float> out, int64_t columns) {
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < columns; ++j) out[i * columns + j] = x[i * x.size(1) + j];
}
OB_KERNEL(copy)
"""


def copy(**rules: Any) -> Any:
    return ob.inline(COPY, schema="processes::copy(Tensor x, int columns) -> Tensor", **rules)


def test_an_attribute_that_decides_the_shape_is_remembered(put: Put) -> None:
    op = copy(out={"shape": "[x.shape[0], columns]"}, shard="b _ -> b _")
    for columns in (1, 3, 12):
        out = op(put(X, S0), columns)
        assert out.placements == (S0,)
        same(out, X[:, :columns])


def test_a_rule_that_is_changed_holds_from_then_on(put: Put) -> None:
    x = put(X, S0)
    for shard, placement in (("b _ -> b _", S0), ("b _ -> b _ : whole b", R)):
        op = copy(out={"shape": "[x.shape[0], columns]"}, shard=shard)
        assert op(x, 2).placements == (placement,)


def test_a_rule_that_is_at_odds_with_the_shape_is_refused(put: Put) -> None:
    op = copy(out={"shape": "[x.shape[0], columns]"}, shard="b h -> b h")
    with pytest.raises(RuleError, match="divides output 0 along 'h'"):
        op(put(X, S1), 12)


def test_tensors_that_do_not_fit_are_named(put: Put, grid: DeviceMesh) -> None:
    with pytest.raises(CallError, match=r"argument 'other' is a torch\.Tensor where others are DTensors"):
        LIB.add_by_name(put(X, S0), other=Y)
    with pytest.raises(CallError, match="different meshes"):
        LIB.scaled_mul(put(X, S0), put(Y, S0, S1, mesh=grid))
    op = copy(out={"shape": "[x.shape[0], columns]"}, shard="b s h -> b _")
    with pytest.raises(CallError, match=r"processes::copy: argument 'x' has 2 dimensions, \[8, 12\]"):
        op(put(X, S0), 2)


def test_compiled(put: Put) -> None:
    def loss(x: Any, y: Any) -> Any:
        return LIB.scaled_mul(x, LIB.norm(y)[0]).sum()

    x, y = put(X, S0).requires_grad_(), put(Y, S0)
    torch.compile(loss, backend="aot_eager", fullgraph=True)(x, y).backward()
    same(x.grad, LIB.norm(Y)[0])
