"""Operators over time: redefined, copied, pickled, in other processes, several libraries in one."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from subprocesses import opened, succeed
from torch.utils.data import DataLoader, Dataset

import opbridge as ob
from opbridge.base.errors import CallError, UnsupportedError
from opbridge.frameworks.torch.adapter import RedefinitionWarning
from opbridge.waist.op import Op, OpLibrary

FACTOR = """
#include <opbridge/kernel.h>
void scale(ob::In<float> x, ob::Out<float> out) { for (int64_t i = 0; i < x.numel(); ++i) out[i] = FACTOR * x[i]; }
OB_KERNEL(scale)
"""


def scale(factor: int, namespace: str, **rules: Any) -> Op:
    schema = f"{namespace}::scale(Tensor x) -> Tensor"
    return ob.inline(FACTOR.replace("FACTOR", str(factor)), schema=schema, out="x", **rules)


def test_redefining_swaps_what_existing_operators_do() -> None:
    x = torch.ones(2)
    first = scale(2, "oblife_swap")
    held, compiled = first.torch, torch.compile(lambda t: first(t), backend="aot_eager", fullgraph=True)
    assert first(x).tolist() == held(x).tolist() == compiled(x).tolist() == [2.0, 2.0]
    second = scale(3, "oblife_swap")
    assert second is first
    assert first(x).tolist() == held(x).tolist() == compiled(x).tolist() == [3.0, 3.0]


def test_redefining_swaps_derivatives_too() -> None:
    x = torch.ones(2, requires_grad=True)
    op = scale(2, "oblife_grad", derivatives={"x": "grad * 2"})
    pending = op(x).sum()
    scale(3, "oblife_grad", derivatives={"x": "grad * 3"})
    (now,) = torch.autograd.grad(op(x).sum(), x)
    (then,) = torch.autograd.grad(pending, x)
    assert (now.tolist(), then.tolist()) == ([3.0, 3.0], [2.0, 2.0])


def test_another_schema_warns_with_both(kernels: Path) -> None:
    op = scale(2, "oblife_schema")
    assert op(torch.ones(1)).item() == 2.0
    source = kernels / "elementwise.cpp:product"
    with pytest.warns(
        RedefinitionWarning, match=r"(?s)before: .*scale\(Tensor x\).*now: .*scale\(Tensor a, Tensor b\)"
    ):
        changed = ob.load(source, schema="oblife_schema::scale(Tensor a, Tensor b) -> Tensor", out="a")
    assert changed is op
    assert op(torch.full((1,), 3.0), torch.full((1,), 4.0)).item() == 12.0
    assert torch.ops.oblife_schema.scale(torch.full((1,), 3.0), torch.ones(1)).item() == 3.0


def test_what_pytorch_refuses_leaves_a_name_that_can_be_defined() -> None:
    too_many = ", ".join(f"Tensor x{i}" for i in range(65))

    def refused() -> None:
        with pytest.raises(UnsupportedError, match=r"obrefused::scale: PyTorch refuses the operator: .* 65 arguments"):
            ob.inline(FACTOR.replace("FACTOR", "2"), schema=f"obrefused::scale({too_many}) -> Tensor", out="x0")

    refused()
    op = scale(3, "obrefused")
    assert op(torch.ones(1)).item() == 3.0
    refused()
    assert scale(4, "obrefused")(torch.ones(1)).item() == 4.0


def test_a_name_that_is_somebody_elses() -> None:
    torch.library.define("obtaken::scale", "(Tensor x) -> Tensor")
    with pytest.raises(UnsupportedError, match=r"obtaken::scale: PyTorch refuses the operator: .*same name"):
        scale(2, "obtaken")


@pytest.mark.parametrize("spelling", ["op", "torch"])
def test_who_holds_a_replaced_schema_never_meets_freed_memory(spelling: str) -> None:
    op = scale(2, f"obheld_{spelling}")
    held = op if spelling == "op" else op.torch.default
    with pytest.warns(RedefinitionWarning):
        ob.inline(
            FACTOR.replace("out)", "out, int64_t)").replace("FACTOR", "3"),
            schema=f"obheld_{spelling}::scale(Tensor x, int n=1) -> Tensor",
            out="x",
        )
    assert held(torch.ones(1)).item() == 3
    with pytest.raises((CallError, RuntimeError)):
        held(torch.ones(1), 1, 2)


def test_copies_are_the_operator_itself(lib: OpLibrary) -> None:
    op = lib.product
    assert copy.copy(op) is op
    assert copy.deepcopy(op) is op
    assert copy.deepcopy({"op": op})["op"] is op
    assert pickle.loads(pickle.dumps(op)) is op


class Model(torch.nn.Module):
    def __init__(self, op: Op) -> None:
        super().__init__()
        self.op = op
        self.weight = torch.nn.Parameter(torch.full((3,), 2.0))

    def forward(self, x: torch.Tensor) -> Any:
        return self.op(x, self.weight)


def test_modules_that_hold_operators(lib: OpLibrary) -> None:
    model = Model(lib.product)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.op is lib.product
        assert other(torch.ones(3)).tolist() == [2.0, 2.0, 2.0]
    buffer = io.BytesIO()
    torch.save(model, buffer)
    buffer.seek(0)
    assert torch.load(buffer, weights_only=False)(torch.ones(3)).tolist() == [2.0, 2.0, 2.0]


def test_another_process_opens_a_pickled_operator(lib: OpLibrary) -> None:
    called = opened(lib.product, "import torch; print(thing(torch.ones(2), torch.full((2,), 4.0)).tolist())")
    assert called == "[4.0, 4.0]\n"


def test_another_process_opens_a_pickled_inline_operator() -> None:
    operator = scale(7, "oblife_pickle")
    assert opened(operator, "import torch; print(thing(torch.ones(2)).tolist())") == "[7.0, 7.0]\n"


class Squares(Dataset[torch.Tensor]):
    def __init__(self, op: Op) -> None:
        self.op = op

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        x = torch.full((2,), float(index))
        result: torch.Tensor = self.op(x, x)
        return result


@pytest.mark.cases(1)
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # JAX's, where another test imported it
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_data_loader_workers(lib: OpLibrary, start: str) -> None:
    lib.product(torch.ones(2), torch.ones(2))
    loader = DataLoader(Squares(lib.product), batch_size=4, num_workers=2, multiprocessing_context=start)
    assert [batch[:, 0].tolist() for batch in loader] == [[0.0, 1.0, 4.0, 9.0], [16.0, 25.0, 36.0, 49.0]]


FORKED = """
import multiprocessing, sys
import torch
import opbridge as ob

def train(op, queue):
    x = torch.full((3,), 3.0, requires_grad=True)
    op(x, x).sum().backward()
    queue.put(x.grad[0].item())

op = ob.load(sys.argv[1]).product
op(torch.ones(2), torch.ones(2))
context = multiprocessing.get_context("fork")
queue = context.SimpleQueue()
process = context.Process(target=train, args=(op, queue), daemon=True)
process.start()
process.join(60)
print(process.exitcode, queue.get())
"""


def test_gradients_in_a_forked_process(kernels: Path) -> None:
    # Of a process of its own: where PyTorch has met an accelerator, it differentiates nothing after a fork.
    command = [sys.executable, "-W", "ignore", "-c", FORKED, str(kernels / "ops.yaml")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "0 6.0\n", done.stderr


def test_kernels_of_one_name_in_two_files(lib: OpLibrary) -> None:
    x = torch.zeros(1)
    assert (lib.first_answer(x).item(), lib.second_answer(x).item()) == (1.0, 2.0)


def test_two_libraries_with_operators_of_one_name(lib: OpLibrary, kernels: Path) -> None:
    other = ob.load(kernels / "elementwise.cpp:square", schema="oblife_other::product(Tensor x) -> Tensor", out="x")
    x = torch.full((1,), 3.0)
    assert (lib.product(x, x).item(), other(x).item()) == (9.0, 9.0)
    assert lib.product is not other


@pytest.mark.cases(1)
@pytest.mark.parametrize("order", ["import torch; lib = load()", "lib = load(); import torch"])
def test_either_order_of_imports(kernels: Path, order: str) -> None:
    program = f"""
import sys, opbridge as ob
assert "torch" not in sys.modules
load = lambda: ob.load({str(kernels / "ops.yaml")!r})
{order}
x = torch.ones(2, requires_grad=True)
lib.product(x, x).sum().backward()
assert x.grad.tolist() == [2.0, 2.0]
assert torch.ops.obtest.product(x, x).tolist() == [1.0, 1.0]
"""
    succeed(program)
