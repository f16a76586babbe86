"""What takes minutes to compile; run by `make formulas`, and not by `make test`."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests.helpers.formula_library import formula_library, formula_source, torch_value
from tests.waist.formulas.test_cuda import held, inputs, needs_nvcc
from tests.waist.formulas.test_formulas import ELEMENTWISE, PICKED
from tests.waist.formulas.test_scans import ON_DEVICES

from opbridge.build.toolchains import BuildRequest, build
from opbridge.waist.op import OpLibrary

_FUNCTIONS = [text for name, text in ELEMENTWISE.items() if name != "astype"]
_EACH = 18  # outputs of one kernel, which has a gradient of each among its operands
_GROUPS = [_FUNCTIONS[start : start + _EACH] for start in range(0, len(_FUNCTIONS), _EACH)]
MANY = {f"elements{number}": ", ".join(group) for number, group in enumerate(_GROUPS)}


SCHEMAS = {
    f"every_formula::{name}(Tensor x, Tensor y) -> ({', '.join(['Tensor'] * len(group))})": MANY[name]
    for name, group in zip(MANY, _GROUPS, strict=True)
} | {f"every_formula::{name}(Tensor x, Tensor y) -> Tensor": text for name, text in PICKED.items()}


ON_NPU = {
    schema.replace("every_formula", "every_on_npu"): text.replace("atan2(x, y) * y", "x * y")
    for schema, text in SCHEMAS.items()
}


@pytest.fixture(scope="module")
def ascend_twin() -> OpLibrary:
    return formula_library(ON_NPU, "float", "ascend-twin")


@pytest.fixture(scope="module")
def twin() -> OpLibrary:
    return formula_library(SCHEMAS, "float", "cuda-twin")


@pytest.mark.parametrize("name", MANY)
def test_every_function_of_elements_and_its_derivative_as_cuda(twin: OpLibrary, name: str) -> None:
    held(twin, name, MANY[name], *inputs((2, 3, 5), (5,)))


@pytest.mark.parametrize("name", PICKED)
def test_formulas_of_models_as_cuda(twin: OpLibrary, name: str) -> None:
    held(twin, name, PICKED[name], *inputs((2, 3, 5), _second(name)))


@pytest.mark.parametrize("name", MANY)
def test_every_function_of_elements_and_its_derivative_as_ascend_c(ascend_twin: OpLibrary, name: str) -> None:
    held(ascend_twin, name, MANY[name].replace("atan2(x, y) * y", "x * y"), *inputs((2, 3, 5), (5,)))


@pytest.mark.parametrize("name", PICKED)
def test_formulas_of_models_as_ascend_c(ascend_twin: OpLibrary, name: str) -> None:
    held(ascend_twin, name, PICKED[name], *inputs((2, 3, 5), _second(name)))


def _second(name: str) -> tuple[int, ...]:
    return (3, 1) if name == "batch_norm" else (5,)


@pytest.mark.parametrize("device", ["cuda-twin", "ascend-twin"])
@pytest.mark.parametrize("size", [2, 7, 31, 32, 127, 129, 511, 512, 1025, 4096, 16385, 100_000])
def test_scans_of_rows_of_any_length(device: str, size: int) -> None:
    schemas = {f"every_scan::{name}(Tensor x, Tensor y) -> Tensor": text for name, text in ON_DEVICES.items()}
    lib = formula_library(schemas, "float, ob::half, ob::bfloat16", device)
    x, y = inputs((2, size), (size,))
    held(lib, "running_mean", ON_DEVICES["running_mean"], x, y)
    halves = [tensor.detach().bfloat16() for tensor in (x, y)]
    expected = torch_value(
        ON_DEVICES["of_a_scan"], {name: half.double() for name, half in zip("xy", halves, strict=True)}
    )
    torch.testing.assert_close(lib["of_a_scan"](*halves), expected.bfloat16())


@needs_nvcc
def test_nvcc_compiles_them_all(tmp_path: Path) -> None:
    source = tmp_path / "kernels.cu"
    scans = {f"every_formula::{name}(Tensor x, Tensor y) -> Tensor": text for name, text in ON_DEVICES.items()}
    source.write_text(formula_source({**SCHEMAS, **scans}, "float", "cuda"))
    flags = ("-gencode=arch=compute_80,code=sm_80", "-Xcompiler=-Wall,-Wextra,-Werror", "-Werror=all-warnings")
    assert build(BuildRequest((source,), "kernels.so", language="cuda", flags=flags)).path.exists()
