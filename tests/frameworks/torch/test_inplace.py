"""Operators that write to an argument: in place, into `out`, with and without a return."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch._dynamo.exc import BackendCompilerFailed

import opbridge as ob
from opbridge.base.errors import CallError, OpbridgeError, UnsupportedError
from opbridge.waist.op import OpLibrary

# PyTorch's own forward mode still uses it.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")


def test_in_place_returns_the_argument_itself(lib: OpLibrary) -> None:
    x, y = torch.zeros(3), torch.ones(3)
    result = lib.scaled_add_(x, y, alpha=2.0)
    assert result.data_ptr() == x.data_ptr()
    assert x.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("call", ["op", "torch"])
def test_out_receives_the_result(lib: OpLibrary, call: str) -> None:
    x, y, out = torch.ones(3), torch.ones(3), torch.empty(3)
    op = lib["scaled_add.out"]
    result = (op if call == "op" else op.torch)(x, y, alpha=4.0, out=out)
    assert result.data_ptr() == out.data_ptr()
    assert out.tolist() == [5.0, 5.0, 5.0]


def test_an_operator_without_return_writes_too(lib: OpLibrary) -> None:
    x, y = torch.zeros(2), torch.ones(2)
    assert lib.scaled_add_quietly_(x, y) is None
    assert lib.swap_(x, z := torch.full((2,), 9.0)) is None
    assert (x.tolist(), z.tolist()) == ([9.0, 9.0], [1.0, 1.0])


VIEWS = {
    "transposed": lambda base: base.T,
    "sliced": lambda base: base[::2, 1::2],
    "column": lambda base: base[:, 1],
    "negated lazily": torch._neg_view,
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_writing_through_a_view_reaches_its_base(lib: OpLibrary, view: object) -> None:
    ours, theirs = torch.arange(24.0).reshape(4, 6), torch.arange(24.0).reshape(4, 6)
    written = view(ours)  # type: ignore[operator]
    lib.scaled_add_(written, torch.ones(written.shape), alpha=10.0)
    view(theirs).add_(10)  # type: ignore[operator]
    assert torch.equal(ours, theirs)


@pytest.mark.parametrize("name", ["scaled_add_", "scaled_add_quietly_"])
def test_writes_count_versions(lib: OpLibrary, name: str) -> None:
    x = torch.zeros(3)
    view = x[1:]
    lib[name](x, torch.ones(3))
    lib[name](view, torch.ones(2))
    assert x._version == view._version == 2


def test_changing_what_backward_needs_is_noticed(lib: OpLibrary) -> None:
    x, y = torch.ones(3, requires_grad=True), torch.ones(3)
    result = lib.product(x, y).sum()
    lib.scaled_add_(y, torch.ones(3))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.backward()


def test_gradients_through_a_write(lib: OpLibrary) -> None:
    leaf, y = torch.ones(3, requires_grad=True), torch.full((3,), 5.0, requires_grad=True)
    x = leaf * 3
    result = lib.scaled_add_(x, y, alpha=2.0)
    assert result.grad_fn is not None
    (x * x).sum().backward()
    torch.testing.assert_close(leaf.grad, 2 * (3 * torch.ones(3) + 10) * 3)
    torch.testing.assert_close(y.grad, 2 * (3 * torch.ones(3) + 10) * 2)


def test_a_formula_of_a_writing_operator_means_the_old_value(lib: OpLibrary) -> None:
    leaf = torch.tensor([2.0, 3.0], requires_grad=True)
    x = leaf * 1
    lib.square_(x)
    x.sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [4.0, 6.0]


def test_gradients_through_a_write_to_a_view(lib: OpLibrary) -> None:
    leaf = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = leaf * 1
    lib.square_(x[1:])
    x.sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [1.0, 4.0, 6.0]


def test_gradcheck_of_a_write(lib: OpLibrary) -> None:
    def through(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = x * 1
        lib.scaled_add_(z, y, alpha=3.0)
        lib.square_(z)
        return z

    inputs = [torch.randn(4, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    assert torch.autograd.gradcheck(through, inputs, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(through, inputs)


def test_a_leaf_that_requires_grad_cannot_be_written(lib: OpLibrary) -> None:
    leaf, y = torch.zeros(3, requires_grad=True), torch.ones(3)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        lib.scaled_add_(leaf, y)
    with torch.no_grad():
        lib.scaled_add_(leaf, y)
    assert leaf.tolist() == [1.0, 1.0, 1.0]


def test_no_gradient_follows_a_write_without_return(lib: OpLibrary) -> None:
    x, y = torch.zeros(3), torch.ones(3, requires_grad=True)
    with pytest.raises(UnsupportedError, match="writes to 'x' without returning it"):
        lib.scaled_add_quietly_(x, y)
    with torch.no_grad():
        lib.scaled_add_quietly_(x, y)


def test_no_gradient_follows_out(lib: OpLibrary) -> None:
    x, y, out = torch.ones(3, requires_grad=True), torch.ones(3), torch.empty(3)
    with pytest.raises(OpbridgeError, match=r"no derivative|torch\.no_grad\(\)"):
        lib["scaled_add.out"](x, y, out=out).sum().backward()


@pytest.mark.parametrize(
    "arguments",
    [
        lambda x: (x, x),
        lambda x: (x, x[:]),
        lambda x: (x[1:], x[:-1]),
        lambda x: (x[:1].expand(4), torch.ones(4)),
    ],
    ids=["same", "view", "shifted", "expanded"],
)
def test_overlapping_memory_is_refused(lib: OpLibrary, arguments: object) -> None:
    x = torch.arange(8.0)
    with pytest.raises(CallError, match=r"argument 'x' is written to and shares memory with .* pass a \.clone\(\)"):
        lib.scaled_add_(*arguments(x))  # type: ignore[operator]
    assert torch.equal(x, torch.arange(8.0))


def test_neighbours_in_one_memory_do_not_overlap(lib: OpLibrary) -> None:
    x = torch.arange(8.0)
    lib.scaled_add_(x[:4], x[4:])
    lib.scaled_add_(x[::2], x[1::2])
    assert x.tolist() == [10.0, 6.0, 18.0, 10.0, 9.0, 5.0, 13.0, 7.0]


INCREMENT_EACH = """#include <opbridge/kernel.h>
void increment_each(ob::List<ob::InOut<float>> xs) {
  for (int64_t i = 0; i < xs.size(); ++i)
    for (int64_t k = 0; k < xs[i].numel(); ++k) xs[i][k] += 1;
}
OB_KERNEL(increment_each)
"""


def test_a_list_is_written_once(lib: OpLibrary) -> None:
    """Of what overlaps in one list each element was written twice; NumPy refuses it by the same error."""
    op = ob.inline(INCREMENT_EACH, schema="inplace::increment_each(Tensor(a!)[] xs) -> ()")
    memory = np.zeros((4, 6), np.float32)
    # Each array as a tensor has a storage of its own, which tells PyTorch nothing of the others.
    whole, views = torch.from_numpy(memory), [memory[:2], memory[1:], memory[:, ::2], memory[:, 1::2]]
    row, after, even, odd = map(torch.from_numpy, views)
    for overlapping in ([whole, whole], [row, after], [row, even], [odd, torch.zeros(1), after]):
        with pytest.raises(CallError, match="two tensors of 'xs', which are written to, share memory"):
            op(overlapping)
    with pytest.raises(CallError, match="two arrays of 'xs', which are written to, share memory"):
        op([memory[:2], memory[:, ::2]])
    with pytest.raises(CallError, match="argument 'x' is written to and shares memory with 'y'"):
        lib.scaled_add_(even[:, 0], even[:, ::2][:, 0])
    op([even, odd, torch.zeros(3)])
    op([whole[:2], whole[2:]])
    assert (memory == 2).all()


def test_under_inference_mode(lib: OpLibrary) -> None:
    with torch.inference_mode():
        x = torch.zeros(2)
        lib.scaled_add_(x, torch.ones(2))
    assert x.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("name", ["scaled_add_", "scaled_add_quietly_"])
def test_vmap_writes_each_slice(lib: OpLibrary, name: str) -> None:
    x, y = torch.zeros(2, 3), torch.arange(6.0).reshape(2, 3)

    def write(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        lib[name](a, b)
        return a

    torch.vmap(write)(x, y)
    assert torch.equal(x, y)


def test_vmap_cannot_write_a_batch_into_one_tensor(lib: OpLibrary) -> None:
    x, y = torch.zeros(3), torch.ones(2, 3)
    with pytest.raises(UnsupportedError, match="no batch dimension"):
        torch.vmap(lambda b: lib.scaled_add_(x, b))(y)


def test_compiled_programs_write_too(lib: OpLibrary) -> None:
    @torch.compile(backend="aot_eager", fullgraph=True)
    def twice(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = x * 2
        lib.scaled_add_quietly_(z, y)
        lib.scaled_add_quietly_(x, y)
        return z

    x, y = torch.ones(3), torch.ones(3)
    torch.testing.assert_close(twice(x, y), torch.full((3,), 3.0))
    torch.testing.assert_close(x, torch.full((3,), 2.0))


def test_pytorch_compiles_no_custom_operator_that_returns_what_it_wrote(lib: OpLibrary) -> None:
    """For compiled programs, declare such an operator without a return."""
    compiled = torch.compile(lambda x, y: lib.scaled_add_(x * 2, y), backend="aot_eager", fullgraph=True)
    with pytest.raises(BackendCompilerFailed, match="output has alias annotations"):
        compiled(torch.ones(3), torch.ones(3))
