"""Operators of opbridge on the device: kernels for the NPU by the twin, or those for the CPU where there are none."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import opbridge as ob
from opbridge.base.errors import KernelError
from opbridge.waist.op import Op

SCALED_ADD = """
#include <opbridge/kernel.h>
template <class T>
void scaled_add(ob::In<T> x, ob::In<T> y, ob::Out<T> out, double alpha) {
  auto* scratch = ob::scratch<T>(out.numel());
  ob::parallel_for(out.numel(), [&](int64_t i) { scratch[i] = T(alpha) * y[i]; });
  ob::parallel_for(out.numel(), [&](int64_t i) { out[i] = x[i] + scratch[i]; });
}
OB_KERNEL(scaled_add, float, double)
"""

SHIFTED = """
#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void shifted(GM_ADDR x, GM_ADDR out, uint32_t n) {
  TPipe pipe;
  TQue<TPosition::VECIN, 1> in;
  TQue<TPosition::VECOUT, 1> made;
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer((__gm__ float*)x, n);
  to.SetGlobalBuffer((__gm__ float*)out, n);
  pipe.InitBuffer(in, 1, n * sizeof(float));
  pipe.InitBuffer(made, 1, n * sizeof(float));
  auto loaded = in.AllocTensor<float>();
  DataCopy(loaded, from, n + OVER);
  in.EnQue(loaded);
  auto a = in.DeQue<float>();
  auto b = made.AllocTensor<float>();
  Adds(b, a, 100.0f, n);
  made.EnQue(b);
  in.FreeTensor(a);
  auto stored = made.DeQue<float>();
  DataCopy(to, stored, n);
  made.FreeTensor(stored);
}
"""


@pytest.fixture(scope="module")
def scaled_add() -> Op:
    return ob.inline(
        SCALED_ADD,
        schema="npu_test::scaled_add(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor",
        out="x",
        derivatives={"x": "grad", "y": "grad * alpha"},
        batch="elementwise",
    )


def test_a_kernel_for_the_cpu_runs_on_the_memory_of_the_device(scaled_add: Op) -> None:
    torch.manual_seed(0)
    x, y = torch.randn(6, 5), torch.randn(6, 5)
    for device in ("npu:0", "npu:1"):
        result = scaled_add(x.to(device), y.to(device), alpha=2.0)
        assert result.device == torch.device(device)
        assert torch.equal(result.cpu(), scaled_add(x, y, alpha=2.0))
        transposed = scaled_add(x.to(device).t(), y.to(device).t())
        assert torch.equal(transposed.cpu(), scaled_add(x.t(), y.t()))


def test_it_is_differentiated_batched_and_compiled(scaled_add: Op) -> None:
    x, y = (torch.randn(4, 3, device="npu", requires_grad=True) for _ in range(2))
    scaled_add(x, y, alpha=3.0).sum().backward()
    assert (x.grad == 1).all()
    assert (y.grad == 3).all()
    torch.testing.assert_close(torch.vmap(scaled_add)(x, y), x + y)
    compiled = torch.compile(lambda a, b: scaled_add(a, b).sin(), backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x, y), (x + y).sin())
    with torch.autocast("npu"):
        assert scaled_add(x, y).device.type == "npu"


def test_devices_are_not_mixed(scaled_add: Op) -> None:
    with pytest.raises(ob.errors.CallError, match=r"argument 'y' is on cpu, the others are on npu:0"):
        scaled_add(torch.ones(2).npu(), torch.ones(2))


def ascend(folder: Path, name: str, over: int) -> Op:
    (folder / f"{name}.cpp").write_text(SHIFTED.replace("shifted", name).replace("OVER", str(over)))
    (folder / "ops.yaml").write_text(
        f"namespace: npu_test\nops:\n  - func: {name}(Tensor x) -> Tensor\n    out: x\n"
        f"    kernels: {{npu: {name}.cpp}}\n    launch: {{blockDim: 1, n: x.numel}}\n    derivatives: {{x: grad}}\n"
    )
    return ob.load(folder / "ops.yaml")[name]


def test_a_kernel_for_the_npu_runs_on_the_twin(tmp_path: Path) -> None:
    op = ascend(tmp_path, "shifted", 0)
    x = torch.arange(64, dtype=torch.float32, device="npu", requires_grad=True)
    result = op(x)
    assert result.device.type == "npu"
    assert torch.equal(result.cpu(), torch.arange(64) + 100.0)
    result.sum().backward()
    assert (x.grad == 1).all()


def test_what_its_checks_find_is_an_error(tmp_path: Path) -> None:
    op = ascend(tmp_path, "beyond", 8)
    with pytest.raises(KernelError, match=r"(?s)out-of-bounds.*beyond\.cpp:15"):
        op(torch.ones(64, device="npu"))


def test_a_formula_and_its_gradients_run_on_the_twin() -> None:
    scaled = ob.formula("npu_test::by_mean(Tensor x, Tensor w) -> Tensor", "x * mean(x * w, -1, keepdim=True)")
    x, w = (torch.randn(shape, device="npu", requires_grad=True) for shape in ((5, 70), (70,)))
    result, expected = scaled(x, w), x * (x * w).mean(-1, keepdim=True)
    assert result.device.type == "npu"
    torch.testing.assert_close(result, expected)
    torch.testing.assert_close(*(torch.autograd.grad(one.sin().sum(), (x, w)) for one in (result, expected)))
    with pytest.raises(KernelError, match="no formula computes in float64 on an NPU"):
        scaled(x.double(), w.double())
