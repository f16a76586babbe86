"""PyTorch's FLOP counter by the `flops` rule."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import opbridge as ob
from opbridge.waist.op import OpLibrary

MANIFEST = """
namespace: obflops
ops:
  - func: scale(Tensor x, float by=2.0) -> Tensor
    out: x
    kernels: {cpu: scale.cpp}
    derivatives: {x: "scale(grad, by)"}
    batch: elementwise
    flops: x.numel
  - func: scale.out(Tensor x, float by=2.0, *, Tensor(a!) out) -> Tensor(a!)
    kernels: {cpu: "scale.cpp:scale_out"}
    flops: 10 * x.numel
  - func: product(Tensor x, Tensor y) -> Tensor
    out: {shape: [x.shape[0], y.shape[1]], dtype: x.dtype}
    kernels: {cpu: scale.cpp}
    derivatives: {x: grad @ y.T}
    flops: 2 * x.shape[0] * x.shape[1] * y.shape[1]
  - func: silent(Tensor x, float by=2.0) -> Tensor
    out: x
    kernels: {cpu: "scale.cpp:scale"}
"""
KERNELS = """
#include <opbridge/kernel.h>
void scale(ob::In<float> x, ob::Out<float> out, double by) {
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = x[i] * float(by);
}
OB_KERNEL(scale)
void scale_out(ob::In<float> x, ob::InOut<float> out, double by) {}
OB_KERNEL(scale_out)
void product(ob::In<float> x, ob::In<float> y, ob::Out<float> out) {}
OB_KERNEL(product)
"""


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> OpLibrary:
    folder = tmp_path_factory.mktemp("flops")
    (folder / "ops.yaml").write_text(MANIFEST)
    (folder / "scale.cpp").write_text(KERNELS)
    library: OpLibrary = ob.load(folder / "ops.yaml")
    return library


def flops(run: Any) -> dict[str, int]:
    with FlopCounterMode(display=False) as counter:
        run()
    return {str(packet): count for packet, count in counter.get_flop_counts().get("Global", {}).items()}


def test_a_call_counts_by_the_rule(counted: OpLibrary) -> None:
    assert flops(lambda: counted.scale(torch.ones(3, 4))) == {"obflops.scale": 12}
    assert flops(lambda: counted.scale(torch.ones(3, 4), by=3.0)) == {"obflops.scale": 12}
    assert flops(lambda: counted.product(torch.ones(2, 3), torch.ones(3, 5))) == {"obflops.product": 60}


def test_an_operator_without_rule_counts_nothing(counted: OpLibrary) -> None:
    assert flops(lambda: counted.silent(torch.ones(3))) == {}


def test_overloads_have_rules_of_their_own(counted: OpLibrary) -> None:
    x = torch.ones(3)
    assert flops(lambda: torch.ops.obflops.scale.out(x, out=torch.empty(3))) == {"obflops.scale": 30}


def test_a_gradient_counts_what_its_formula_calls(counted: OpLibrary) -> None:
    x = torch.ones(3, 4, requires_grad=True)
    assert flops(lambda: counted.scale(x).sum().backward()) == {"obflops.scale": 24}
    matrix = torch.ones(2, 3, requires_grad=True)
    result = flops(lambda: counted.product(matrix, torch.ones(3, 5)).sum().backward())
    assert result == {"obflops.product": 60, "aten.mm": 60}


def test_a_batch_counts_as_a_whole(counted: OpLibrary) -> None:
    assert flops(lambda: torch.func.vmap(counted.scale)(torch.ones(5, 4))) == {"obflops.scale": 20}


def test_a_module_has_its_share(counted: OpLibrary) -> None:
    class Scale(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return counted.scale(x)

    with FlopCounterMode(display=False) as counter:
        torch.nn.Sequential(Scale(), Scale())(torch.ones(7))
    assert sum(counter.get_flop_counts()["Sequential.0"].values()) == 7
    assert counter.get_total_flops() == 14


def test_the_counter_needs_no_data(counted: OpLibrary) -> None:
    assert flops(lambda: counted.scale(torch.empty(1 << 20, 1 << 20, device="meta"))) == {"obflops.scale": 1 << 40}


def test_a_new_definition_counts_by_its_own_rule() -> None:
    schema = "obflops_redefined::scale(Tensor x, float by=2.0) -> Tensor"
    x = torch.ones(3)
    for rule, expected in (("x.numel", 3), ("2 * x.numel", 6), (None, 0)):
        op = ob.inline(KERNELS, schema=schema, out="x", flops=rule)
        assert sum(flops(lambda op=op: op(x)).values()) == expected  # type: ignore[misc]
