"""Formulas as Ascend C: run by the twin with its checks, held against PyTorch and against the kernels for the CPU.

Every function, each with its derivative, is run by `make formulas` (every_formula.py).
"""

from __future__ import annotations

import pytest
import torch
from tests.helpers.formula_library import formula_library
from tests.waist.formulas.test_cuda import NOTHING, REDUCED, SCHEMAS, held, inputs

import opbridge as ob
from opbridge.base.errors import KernelError, RuleError
from opbridge.waist.formulas import formula_operators
from opbridge.waist.op import OpLibrary
from opbridge.waist.schema import Schema

CHOSEN = "formulas_ascend::chosen(Tensor mask, Tensor x, *, Scalar s=1, float a=2.0, str mode='up') -> (Tensor, Tensor)"
TEXTS = {
    "formulas_ascend::along_rows(Tensor x, Tensor y) -> Tensor": REDUCED["along_rows"],
    "formulas_ascend::batch_norm(Tensor x, Tensor y) -> Tensor": REDUCED["batch_norm"],
    CHOSEN: SCHEMAS[CHOSEN.replace("ascend", "cuda")],
}


REFUSED = {
    "argmax(x, -1)": "argmax",
    "atan2(x, 1 + x)": "atan2",
    "astype(x, float64)": "float64",
    "x[..., ::2] * 2": "slices",
}


@pytest.fixture(scope="module")
def lib() -> OpLibrary:
    return formula_library(TEXTS, "float, double, ob::half", "ascend-twin")


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2, 3, 1), (1,)),  # one element a row
        ((2, 3, 77), (77,)),  # a tail that is no whole block
        ((40, 4096), (4096,)),  # a row in one piece, and sums of many rows
        ((40, 3, 4097), (3, 1)),  # in two, of which one has one element
        ((1, 2, 9000), (9000,)),  # rows that all blocks share
    ],
)
def test_rows_come_in_pieces_of_local_memory(lib: OpLibrary, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    held(lib, "along_rows", REDUCED["along_rows"], *inputs(left, right))


@pytest.mark.parametrize(("name", "left", "right"), NOTHING)
def test_no_element_is_no_work(lib: OpLibrary, name: str, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x, y = inputs(left, right)
    gradients = torch.autograd.grad(lib[name](x, y).sum(), (x, y))
    torch.testing.assert_close(gradients, (torch.zeros_like(x), torch.zeros_like(y)))


def test_tensors_whose_rows_lie_apart_are_gathered(lib: OpLibrary) -> None:
    x, y = inputs((3, 40, 6), (40, 1))
    held(lib, "batch_norm", REDUCED["batch_norm"], x, y)
    held(
        lib,
        "batch_norm",
        REDUCED["batch_norm"],
        x.detach().transpose(0, 2).contiguous().transpose(0, 2).requires_grad_(),
        y,
    )


def test_masks_attributes_and_outputs_of_other_types(lib: OpLibrary) -> None:
    x = torch.randn(3, 50)
    torch.testing.assert_close(lib["chosen"](x > 0, x, s=3), (torch.relu(x) * 3, x > 2))
    torch.testing.assert_close(lib["chosen"](x > 0, x, mode="down", a=0.5), (x * 0.5, x > 0.5))
    row = x[:, :1] > 0
    torch.testing.assert_close(lib["chosen"](row, x)[0], torch.where(row, x, 0.0))


def test_halves_are_computed_in_float_as_on_the_cpu(lib: OpLibrary) -> None:
    x, y = (tensor.detach().half().requires_grad_() for tensor in inputs((37, 300), (300,)))
    on_cpu = formula_library(
        {"formulas_cpu::along_rows(Tensor x, Tensor y) -> Tensor": REDUCED["along_rows"]}, "ob::half"
    )
    results = [library["along_rows"](x, y) for library in (lib, on_cpu)]
    torch.testing.assert_close(*results)
    torch.testing.assert_close(*(torch.autograd.grad(result, (x, y), torch.ones_like(x)) for result in results))


def test_what_an_npu_has_not_got_is_refused(lib: OpLibrary) -> None:
    with pytest.raises(KernelError, match=r"no formula computes in float64 on an NPU.*convert the tensors"):
        lib["along_rows"](torch.ones(3, dtype=torch.double), torch.ones(3, dtype=torch.double))


@pytest.mark.parametrize("text", REFUSED)
def test_a_formula_that_an_npu_cannot_have_is_refused_where_one_is_asked_for(text: str) -> None:
    message = f"m::f becomes no kernel for an NPU: .*, and the formula has {REFUSED[text]}\n  do without it, or write a"
    for device in ("npu", "ascend-twin"):
        with pytest.raises(RuleError, match=message):
            ob.formula("m::f(Tensor x) -> Tensor", text, device=device)


def test_other_devices_have_it_all_the_same() -> None:
    follows = formula_operators("argmax(x, -1)", Schema.parse("m::f(Tensor x) -> Tensor"))
    assert follows.devices == ("cpu", "cuda")
    assert [device for device, _ in follows.refusals] == ["npu"]


def test_a_source_is_a_kernel_over_rows_and_its_host() -> None:
    schema = Schema.parse("mylib::rms(Tensor x, *, float eps=1e-6) -> Tensor")
    text = formula_operators("x * rsqrt(mean(x * x, -1, keepdim=True) + eps)", schema).forward.source("npu")
    assert text == EXPECTED


EXPECTED = """\
// mylib::rms(Tensor x, *, float eps=1e-6) -> Tensor
//   x * rsqrt(mean(x * x, -1, keepdim=True) + eps)
#include <opbridge/npu_grid.h>
#include <opbridge/kernel.h>

#include <cmath>

template <class T>
__global__ __aicore__ void rms_rows(GM_ADDR x_data, GM_ADDR out_data, GM_ADDR workspace, ob::npu::View<2> view,
    float share, float eps) {
  using namespace AscendC;
  ob::npu::Rows<2, 4, 0> rows(view, workspace, {x_data, out_data});
  const auto x = rows.vector(0), t0 = rows.vector(1), t1 = rows.vector(2), t2 = rows.vector(3);
  for (; rows.is_left(); rows.next()) {
    const uint32_t w = rows.width();
    // mean
    rows.start(t0, 0.0f);
    for (rows.first(); rows.has_step(); rows.step()) {
      const uint32_t n = rows.count();
      rows.read<T>(0, x);
      Mul(t1, x, x, n);
      Add(t0, t0, t1, n);
    }
    rows.sum(t0);
    Muls(t0, t0, share, w);
    Adds(t1, t0, eps, w);
    ob::npu::rsqrt(t0, t1, t2, w);
    rows.spread(t0);
    for (rows.first(); rows.has_step(); rows.step()) {
      const uint32_t n = rows.count();
      rows.read<T>(0, x);
      Mul(t1, x, t0, n);
      rows.write<T>(1, t1);
    }
  }
}

template <class T>
void rms(ob::In<T, ob::strided> x, double eps, ob::Out<T> out, ob::Context context) {
  using F = float;
  ob::check_npu_type<T>();
  const ob::NpuGrid<2> grid({-1}, {ob::reads(x), ob::writes(out)}, {4, 0, false});
  if (!grid.has_work()) return;
  using U = ob::npu::Element<T>;
  rms_rows<U><<<grid.blocks(), nullptr, context.stream()>>>((GM_ADDR)ob::launch::address(x),
      (GM_ADDR)ob::launch::address(out), grid.workspace(context), grid.view(), F(1) / F(grid.length()), F(eps));
}
OB_KERNEL(rms, float, double, ob::half, ob::bfloat16)
"""
