"""Libraries of `opbridge build --export tvm-ffi` under tvm-ffi's own package, and back under opbridge."""

from __future__ import annotations

import gc
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import opbridge as ob
from opbridge.base.errors import UnsupportedError
from opbridge.build.cache import Cache
from opbridge.build.sources.tvm_ffi_export import generate, with_functions
from opbridge.build.toolchains import BuildRequest
from opbridge.cli import main
from opbridge.waist.manifest import OpSpec

tvm_ffi = pytest.importorskip("tvm_ffi")

SOURCE = Path(__file__).with_name("standalone_kernels.cpp")
SCALED_ADD = "scaled_add(Tensor x, Tensor y, *, float alpha=2.5) -> Tensor"
MANIFEST = f"""
namespace: exported
ops:
  - func: {SCALED_ADD}
    out: broadcast(x, y)
    derivatives: {{x: grad, y: grad * alpha}}
    kernels: {{cpu: standalone_kernels.cpp}}
  - func: scaled_add.same(Tensor x, Tensor y, *, float alpha) -> Tensor
    out: x
    batch: elementwise
    kernels: {{cpu: 'standalone_kernels.cpp:scaled_add'}}
  - func: >-
      describe(Tensor x, *, bool flag=True, int number=7, Scalar scalar=1.5, str text='four', float? maybe=None,
      int[2] ints=3, float[] floats=[0.25, 1], bool[] bools=[False], ScalarType type=half) -> Tensor
    out: {{shape: [10], dtype: float64}}
    kernels: {{cpu: standalone_kernels.cpp}}
  - func: split(Tensor x, *, int n=1) -> (Tensor head, Tensor tail)
    out: [{{shape: [n], dtype: x.dtype}}, {{shape: [x.shape[0] - n], dtype: float64}}]
    kernels: {{cpu: standalone_kernels.cpp}}
  - func: join(Tensor[] xs) -> Tensor
    out: {{shape: [sum(xs[0].shape)], dtype: float32}}
    kernels: {{cpu: standalone_kernels.cpp}}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    shutil.copy(SOURCE, folder)
    (folder / "ops.yaml").write_text(MANIFEST)
    assert main(["build", str(folder / "ops.yaml"), "-o", str(folder / "lib"), "--export", "tvm-ffi"]) == 0
    return folder / "lib" / "standalone_kernels_cpu.so"


@pytest.fixture(scope="module")
def module(library: Path) -> Any:
    return tvm_ffi.load_module(str(library))


def test_outputs_come_last_or_are_returned(module: Any) -> None:
    x, y, out = torch.arange(3.0), torch.ones(3), torch.empty(3)
    assert module["scaled_add"](x, y, 2.0, out) is None
    made = module["scaled_add"](x, y, 2)
    assert isinstance(made, torch.Tensor)
    assert out.tolist() == made.tolist() == [2, 3, 4]
    assert module["scaled_add_same"](x, y, 1.0).tolist() == [1, 2, 3]
    assert module["scaled_add"](torch.ones(2, 1), torch.ones(3), 1.0).shape == (2, 3)


def test_several_outputs_must_be_given(module: Any) -> None:
    head, tail = torch.empty(1), torch.empty(2, dtype=torch.float64)
    module["split"](torch.arange(3.0), 1, head, tail)
    assert (head.tolist(), tail.tolist()) == ([0], [1, 2])
    with pytest.raises(TypeError, match=r"expected 2 arguments \(x, n\) and 2 outputs, got 2 values"):
        module["split"](torch.arange(3.0), 1)


def test_attributes_of_every_kind(module: Any) -> None:
    half, single = tvm_ffi.dtype("float16"), tvm_ffi.dtype("float32")
    x = torch.tensor([True])
    described = module["describe"](x, False, -4, 2, "a text that is not short", 0.5, [9, 1], [2.5], [True], single)
    assert described.tolist() == [1, 0, -4, 2, 24, 0.5, 9, 2.5, 1, 11]
    described = module["describe"](x, 1, True, True, "", None, 3, tvm_ffi.convert([]), [], half)
    assert described.tolist() == [1, 1, 1, 1, 0, -1, 3, -1, -1, 9]


def test_lists_of_tensors(module: Any) -> None:
    assert module["join"]([torch.zeros(2), torch.ones(2)])[:2].tolist() == [0, 0]


X = torch.ones(3)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((X, X, 1.0, torch.empty(4)), ValueError, r"exported::scaled_add: output 1 has shape \[4\], expected \[3\]"),
        ((X, X, 1.0, torch.empty(3, dtype=torch.int32)), TypeError, "output 1 is int32, expected float32"),
        ((X, X, 1.0, 2.0), TypeError, "output 1 is not a tensor"),
        ((X, X), TypeError, r"expected 3 arguments \(x, y, alpha\) and 1 output, got 2 values"),
        ((X, X.double(), 1.0), TypeError, "argument 'y' is float64 but 'x' is float32"),
        ((X.int(), X.int(), 1.0), TypeError, "the kernel takes float32, float64"),
        ((X, torch.ones(2), 1.0), ValueError, r"shapes \[3\] and \[2\] do not broadcast"),
        ((X, X, "a"), TypeError, "argument 'alpha' is not the float"),
        ((X, None, 1.0), TypeError, "argument 'y' cannot be None"),
        ((X, 1.0, 1.0), TypeError, "argument 'y' is not the Tensor"),
        ((torch.ones(6)[::2], X, 1.0), ValueError, "argument 'x' is not contiguous"),
    ],
)
def test_arguments_that_do_not_fit(module: Any, arguments: tuple[Any, ...], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        module["scaled_add"](*arguments)


def test_inputs_of_unequal_shapes(module: Any) -> None:
    with pytest.raises(ValueError, match=r"argument 'y' has shape \[2\], expected \[3\] as 'x' has"):
        module["scaled_add_same"](torch.ones(3), torch.ones(2), 1.0)


def test_what_a_kernel_fails_with_is_raised_and_frees_what_was_made(module: Any) -> None:
    with pytest.raises(RuntimeError, match="exported::split: n is 0"):
        module["split"](torch.ones(3), 0, torch.empty(0), torch.empty(3, dtype=torch.float64))
    gc.collect()
    assert module["join"]([torch.zeros(2)]).shape == (2,)


def test_the_function_is_an_operator_of_opbridge_again(library: Path) -> None:
    op = ob.tvm_ffi(f"{library}:scaled_add", schema=f"back::{SCALED_ADD}", out="broadcast(x, y)")
    np.testing.assert_array_equal(op(np.ones(3, np.float32), np.ones(3, np.float32)), [3.5] * 3)
    kernel = ob.aot(f"{library}:scaled_add", schema=f"plain::{SCALED_ADD}", out="broadcast(x, y)")
    np.testing.assert_array_equal(kernel(np.ones(3, np.float32), np.ones(3, np.float32)), [3.5] * 3)


def test_export_needs_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ops.yaml").write_text("namespace: n\nops: []\n")
    assert main(["build", str(tmp_path / "ops.yaml"), "--export", "tvm-ffi"]) == 2
    assert "--export tvm-ffi needs -o DIR" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "device", "out", "message"),
    [
        ('extern "C" int f(int);', "cpu", "x", "n::f: its kernel f is not written on kernel.h"),
        ("OB_KERNEL(f)", "cpu", None, "n::f has no out rule"),
        ("OB_KERNEL(f)", "npu", "x", "kernels for npu cannot be exported"),
    ],
)
def test_what_cannot_be_exported(tmp_path: Path, source: str, device: str, out: str | None, message: str) -> None:
    (tmp_path / "f.cpp").write_text(source)
    spec = OpSpec.create("n::f(Tensor x) -> Tensor", kernels={device: "f.cpp", "cuda": "lib.so:f"}, out=out)
    with pytest.raises(UnsupportedError, match=message):
        with_functions(BuildRequest((tmp_path / "f.cpp",), "f.so"), device, [("f", spec)], Cache())


def test_the_generated_source_is_the_same_each_time() -> None:
    spec = OpSpec.create("n::f.g(Tensor x) -> Tensor", kernels={"cpu": "f.cpp:k"}, out="x")
    text = generate([("k", spec)], "cuda")
    assert text == generate([("k", spec)], "cuda")
    assert text.startswith("#include <standalone/tvm_ffi.h>\nalignas(8) static const unsigned char f_g_plan[] = {")
    assert text.endswith("OB_TVM_FFI_FUNCTION(f_g, k, f_g_plan, OB_DEVICE_CUDA)\n")
