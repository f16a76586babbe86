"""Formulas as CUDA: run by the twin with its checks, held against PyTorch, and compiled by nvcc where there is one.

Every function, each with its derivative, is run by `make formulas` (every_formula.py).
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from tests.helpers.formula_library import formula_library, formula_source, torch_value
from tests.waist.formulas.test_formulas import PICKED

import opbridge as ob
from opbridge.build.toolchains import BuildRequest, build, nvcc
from opbridge.waist.formulas import formula_operators
from opbridge.waist.op import OpLibrary
from opbridge.waist.schema import Schema

ROOT = Path(__file__).parents[3]
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on PATH")

REDUCED = {
    "along_rows": "x * rsqrt(var(x * y, -1, keepdim=True) + max(x, -1, keepdim=True)**2 + 1) * y",
    "log_softmax": PICKED["log_softmax"],
    "batch_norm": PICKED["batch_norm"],
    "whole": "x / sqrt(sum(x * x)) + y - min(x * y)",
    "loss": "mean(logsumexp(x * y, -1) - sum(x * y, -1))",
}
SCHEMAS = {
    **{f"formulas_cuda::{name}(Tensor x, Tensor y) -> Tensor": text for name, text in REDUCED.items()},
    "formulas_cuda::chosen(Tensor mask, Tensor x, *, Scalar s=1, float a=2.0, str mode='up') -> (Tensor, Tensor)": (
        "where(mask, x, 0) * s if mode == 'up' else x * a, x > a"
    ),
    "formulas_cuda::largest(Tensor x) -> (Tensor, Tensor, Tensor)": (
        "argmax(x, -1), argmin(x, -1), astype(sum(x, -1, keepdim=True), float64)"
    ),
}
NOTHING = [("along_rows", (2, 0, 3), (3,)), ("batch_norm", (2, 3, 0), (3, 1))]
"""No rows, and rows without elements, of which there is a mean but no largest one."""


@pytest.fixture(scope="module")
def lib() -> OpLibrary:
    return formula_library(SCHEMAS, "float", "cuda-twin")


def inputs(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(left, generator=generator).requires_grad_()
    return x, torch.randn(right, generator=generator).abs().add(0.2).requires_grad_()


def held(lib: OpLibrary, name: str, text: str, x: torch.Tensor, y: torch.Tensor) -> None:
    """Values and gradients, against PyTorch's in double precision."""
    wide = [tensor.detach().double().requires_grad_() for tensor in (x, y)]
    got, expected = lib[name](x, y), torch_value(text, dict(zip("xy", wide, strict=True)))
    got, expected = (value if isinstance(value, tuple) else (value,) for value in (got, expected))
    torch.testing.assert_close(got, tuple(value.to(mine.dtype) for value, mine in zip(expected, got, strict=True)))

    def gradients(values: tuple[torch.Tensor, ...], inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        total = sum((torch.cos(value).sum() for value in values), torch.zeros(()))
        return [gradient.float() for gradient in torch.autograd.grad(total, inputs)]

    torch.testing.assert_close(gradients(got, [x, y]), gradients(expected, wide), rtol=2e-4, atol=2e-4)


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2, 3, 4), (4,)),  # a few lanes of a warp for each row
        ((2, 3, 600), (600,)),  # a block
        ((1, 2, 9000), (9000,)),  # the whole launch, whose blocks wait for each other
        ((40, 3, 7), (3, 1)),  # what does not begin at 16 bytes
    ],
)
@pytest.mark.parametrize("name", ["along_rows", "whole", "loss"])
def test_rows_are_shared_by_as_many_threads_as_they_need(
    lib: OpLibrary, name: str, left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    held(lib, name, REDUCED[name], *inputs(left, right))


@pytest.mark.parametrize(("name", "left", "right"), NOTHING)
def test_no_element_is_no_work(lib: OpLibrary, name: str, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x, y = inputs(left, right)
    gradients = torch.autograd.grad(lib[name](x, y).sum(), (x, y))
    torch.testing.assert_close(gradients, (torch.zeros_like(x), torch.zeros_like(y)))


@pytest.mark.parametrize(("name", "shape"), [("log_softmax", (3, 5, 40)), ("batch_norm", (3, 40, 6))])
def test_axes_that_are_not_the_last_are_walked_across(lib: OpLibrary, name: str, shape: tuple[int, ...]) -> None:
    x, y = inputs(shape, (shape[1], 1))
    held(lib, name, REDUCED[name], x, y)
    held(lib, name, REDUCED[name], x.detach().transpose(0, 2).contiguous().transpose(0, 2).requires_grad_(), y)


def test_masks_attributes_and_outputs_of_other_types(lib: OpLibrary) -> None:
    x = torch.randn(3, 50)
    chosen, above = lib["chosen"](x > 0, x, s=3)
    torch.testing.assert_close((chosen, above), (torch.relu(x) * 3, x > 2))
    torch.testing.assert_close(lib["chosen"](x > 0, x, mode="down", a=0.5), (x * 0.5, x > 0.5))
    x[0, 7] = x[1, 3] = x[1, 9] = torch.inf
    x[2, 8] = torch.nan
    first, last, total = lib["largest"](x)
    assert first.tolist() == [7, 3, 8]
    assert (last[:2].tolist(), int(last[2])) == (x[:2].argmin(-1).tolist(), 8)
    assert total.dtype == torch.float64


def test_a_formula_for_cuda_runs_in_its_twin() -> None:
    op = ob.formula("formulas_cuda::tripled(Tensor x) -> Tensor", "3 * x", device="cuda-twin")
    assert op(torch.ones(2)).tolist() == [3, 3]


def test_a_source_is_one_function_of_the_gpu_and_one_of_the_host() -> None:
    schema = Schema.parse("mylib::rms(Tensor x, *, float eps=1e-6) -> Tensor")
    text = formula_operators("x * rsqrt(mean(x * x, -1, keepdim=True) + eps)", schema).forward.source("cuda")
    assert text == EXPECTED


EXPECTED = """\
// mylib::rms(Tensor x, *, float eps=1e-6) -> Tensor
//   x * rsqrt(mean(x * x, -1, keepdim=True) + eps)
#include <opbridge/cuda_grid.h>
#include <opbridge/kernel.h>

#include <cmath>

template <class T>
__global__ void rms_rows(const __grid_constant__ ob::GridView grid, double eps) {
  using F = ob::opmath<T>;
  __shared__ ob::Exchange exchange;
  for (ob::GridRow<T> row(grid, exchange); row.is_left(); row.next()) {
    const int64_t n = row.size();
    const auto x_row = row.template read<T>(0);
    const F mean = row.sum([=](F x) { return x * x; }, x_row) / F(n);
    const F add = mean + F(eps);
    const F rsqrt = ob::rsqrt(add);
    const auto out_row = row.template write<T>(1);
    row.each([=](F x, F& out) {
      out = x * rsqrt;
    }, x_row, out_row);
  }
}

template <class T>
void rms(ob::In<T, ob::strided> x, double eps, ob::Out<T> out) {
  ob::CudaGrid grid({-1}, {ob::reads(x), ob::writes(out)});
  grid.launch<T>(rms_rows<T>, eps);
}
OB_KERNEL(rms, float, double, ob::half, ob::bfloat16)
"""


WITHOUT_GRADIENT = {"m::steps(Tensor x) -> Tensor": "floor(x * sum(x, -1, keepdim=True))"}


@pytest.mark.matrix("test_a_formula_for_cuda_runs_in_its_twin compiles the same sources")
@needs_nvcc
def test_nvcc_compiles_every_type_for_every_architecture(tmp_path: Path) -> None:
    source = tmp_path / "kernels.cu"
    source.write_text(formula_source(WITHOUT_GRADIENT, "float, double, ob::half, ob::bfloat16", "cuda"))
    architectures = tuple(f"-gencode=arch=compute_{n},code=sm_{n}" for n in (80, 90, 100))
    flags = (*architectures, "-Xcompiler=-Wall,-Wextra,-Werror", "-Werror=all-warnings")
    assert build(BuildRequest((source,), "kernels.so", language="cuda", flags=flags)).path.exists()


@needs_nvcc
def test_nvcc_moves_elements_in_packs_of_16_bytes(tmp_path: Path) -> None:
    source = tmp_path / "kernels.cu"
    source.write_text(formula_source(WITHOUT_GRADIENT, "float", "cuda"))
    include = f"-I{ROOT}/src/opbridge/include"
    command = [*nvcc.find(), "-std=c++17", "-arch=compute_80", "-ptx", "--expt-relaxed-constexpr", include]
    subprocess.run([*command, str(source), "-o", str(tmp_path / "kernels.ptx")], check=True)
    text = (tmp_path / "kernels.ptx").read_text()
    assert re.search(r"ld\.global(\.nc)?\.v4\.[fub]32", text)
    assert re.search(r"st\.global\.v4\.[fub]32", text)
