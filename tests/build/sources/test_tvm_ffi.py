"""Functions of tvm-ffi's call as operators, in every framework; the library is built with tvm-ffi's own headers."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from subprocesses import succeed

import opbridge as ob
from opbridge.base.errors import CallError, KernelError, ManifestError, ToolchainError
from opbridge.build.sources import tvm_ffi
from opbridge.build.toolchains.interface import INCLUDE
from opbridge.waist.op import Op

KERNELS = Path(__file__).with_name("tvm_ffi_kernels.cpp")
HEADERS = tvm_ffi.runtime_library(KERNELS.parent).parents[1] / "include"
ADD_SCALED = "add_scaled(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor"
DESCRIBE = (
    "describe(Tensor? x=None, *, bool flag=True, int number=-7, float real=0.5, str text='seven letters', "
    "float? maybe=None, ScalarType type=half, int[] ints=[3, 4], float[] floats=[0.25], bool[] bools=[True, False]) "
    "-> Tensor"
)


def compiled(source: Path, library: Path, *flags: str) -> Path:
    command = ["g++", "-std=c++17", "-shared", "-fPIC", f"-I{HEADERS}", source, "-o", library, *flags]
    subprocess.run(command, check=True)
    return library


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(KERNELS, tmp_path_factory.mktemp("tvm_ffi") / "kernels.so")


@pytest.fixture(scope="module")
def make(library: Path) -> Callable[..., Op]:
    namespaces = (f"tvm{i}" for i in itertools.count())

    def build(schema: str, **rules: Any) -> Op:
        return ob.tvm_ffi(f"{library}:{schema.partition('(')[0]}", schema=f"{next(namespaces)}::{schema}", **rules)

    return build


@pytest.fixture(scope="module")
def add_scaled(make: Callable[..., Op]) -> Op:
    return make(ADD_SCALED, out="x", derivatives={"x": "grad", "y": "grad * alpha"}, batch="elementwise")


def f32(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


class TestFrameworks:
    def test_numpy(self, add_scaled: Op) -> None:
        np.testing.assert_array_equal(add_scaled(f32(2, 3), f32(2, 3), alpha=2.0), 3 * f32(2, 3))
        assert add_scaled(f32(0), f32(0)).shape == (0,)

    def test_torch_with_gradient_and_compiled(self, add_scaled: Op) -> None:
        x, y = torch.ones(3), torch.ones(3, requires_grad=True)
        (gradient,) = torch.autograd.grad(add_scaled(x, y, alpha=2.0).sum(), y)
        assert gradient.tolist() == [2, 2, 2]
        compiled = torch.compile(lambda x, y: add_scaled(x, y, alpha=3.0) + 1, fullgraph=True, backend="aot_eager")
        assert compiled(x, y).tolist() == [5, 5, 5]
        assert torch.vmap(add_scaled.torch)(torch.ones(2, 3), torch.ones(2, 3)).tolist() == [[2, 2, 2]] * 2

    def test_jax_with_gradient_under_jit(self, add_scaled: Op) -> None:
        jax = pytest.importorskip("jax")
        x = jax.numpy.ones(3)
        gradient = jax.jit(jax.grad(lambda y: add_scaled.jax(x, y, alpha=2.0).sum()))(x)
        assert gradient.tolist() == [2, 2, 2]

    def test_mindspore_with_gradient_in_both_modes(
        self, add_scaled: Op, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("GLOG_v", "4")
        monkeypatch.chdir(tmp_path)
        ms = pytest.importorskip("mindspore")
        x, other = ms.Tensor(f32(3)), ms.Tensor(f32(3))

        def loss(y: Any) -> Any:
            return add_scaled.mindspore(x, y, alpha=2.0).sum()

        for function in (loss, ms.jit(loss)):
            value, gradient = ms.value_and_grad(function)(other)
            assert float(value) == 9
            assert gradient.asnumpy().tolist() == [2, 2, 2]


class TestArguments:
    def test_attributes_arrive_as_what_they_are(self, make: Callable[..., Op]) -> None:
        op = make(DESCRIBE, out={"shape": "[12]", "dtype": "float64"})
        assert op.numpy().tolist() == [-1, 1, -7, 0.5, 13, -1, 2016, 3, 4, 0.25, 1, 0]
        given = {"flag": False, "number": 2**40, "real": -1.5, "text": "", "maybe": 2.5, "type": "bfloat16"}
        given |= {"ints": [], "floats": [1.0, 2.0, 3.0, 4.0], "bools": [True]}
        assert op(torch.ones(2, dtype=torch.int8), **given | {"type": torch.bfloat16}).tolist() == [
            *(8, 0, 2**40, -1.5, 0, 2.5, 4016),
            *(1, 2, 3, 4, 1),
        ]

    def test_several_outputs_follow_in_order(self, make: Callable[..., Op]) -> None:
        like_x = {"shape": "x.shape", "dtype": "int32"}
        op = make("split(Tensor x) -> (Tensor low, Tensor high)", out=[like_x, like_x])
        low, high = op(np.array([5 + (7 << 16)], np.int64))
        assert (low.tolist(), high.tolist()) == ([5], [7])

    def test_an_argument_that_is_written_to(self, make: Callable[..., Op]) -> None:
        x = torch.zeros(4)[::2]
        assert make("increment(Tensor(a!) x) -> Tensor(a!)")(x) is x
        assert x.tolist() == [1, 1]

    def test_tensors_come_as_one_piece(self, make: Callable[..., Op]) -> None:
        op = make("contiguous(Tensor x) -> Tensor", out={"shape": "[]", "dtype": "int32"})
        assert op(torch.zeros(3, 4).t()).item() == op(f32(4, 4)[:, 1:]).item() == op(f32(2, 0, 3)).item() == 1

    def test_a_list_of_tensors_is_refused(self, make: Callable[..., Op]) -> None:
        with pytest.raises(KernelError, match="'xs' is a list of tensors"):
            make("length(Tensor[] xs) -> Tensor", out="xs[0]")([f32(2)])


class TestErrors:
    def test_what_the_function_raises_is_a_kernel_error(self, add_scaled: Op) -> None:
        with pytest.raises(
            KernelError, match=r"^tvm\d+::add_scaled: ValueError: x has 3 dimensions, expected at most 2$"
        ):
            add_scaled(f32(1, 1, 1), f32(1, 1, 1))

    def test_arguments_that_do_not_fit_the_function(self, make: Callable[..., Op]) -> None:
        with pytest.raises(KernelError, match=r"tvm\d+::increment: TypeError: .*Expected 1 but got 2 arguments"):
            make("increment(Tensor x) -> Tensor", out="x")(f32(1))

    def test_what_a_function_returns_is_let_go_of_unless_it_is_the_output(self, make: Callable[..., Op]) -> None:
        assert make("length(Tensor x) -> Tensor", out="x")(f32(2)).shape == (2,)
        with pytest.raises(KernelError, match="returns a new tensor; expected one that takes its outputs"):
            make("fresh(Tensor x) -> Tensor", out="x")(f32(2))

    def test_a_function_that_is_not_there(self, library: Path) -> None:
        def call(library: Path, name: str) -> None:
            ob.tvm_ffi(f"{library}:{name}", schema="tvm::absent(Tensor x) -> Tensor", out="x")(f32(1))

        with pytest.raises(
            KernelError, match=r"no function 'add_scald' in kernels\.so\n  .*did you mean 'add_scaled'\?"
        ):
            call(library, "add_scald")
        kernel = library.with_name("plain.so")
        (library.parent / "plain.cpp").write_text('extern "C" int plain() { return 0; }\n')
        compiled(library.parent / "plain.cpp", kernel)
        with pytest.raises(KernelError, match="it has plain with another call"):
            call(kernel, "plain")
        with pytest.raises(KernelError, match="it has no function of tvm-ffi's call"):
            call(kernel, "other")

    def test_an_out_rule_is_needed(self, make: Callable[..., Op]) -> None:
        with pytest.raises(KernelError, match="needs an out rule"):
            make("length(Tensor x) -> Tensor")(f32(1))

    def test_a_library_that_does_not_load(self, tmp_path: Path) -> None:
        (tmp_path / "needy.cpp").write_text('extern "C" int f(); extern "C" int __tvm_ffi_g() { return f(); }\n')
        library = compiled(tmp_path / "needy.cpp", tmp_path / "needy.so", "-Wl,-z,now")
        with pytest.raises(KernelError, match=r"(?s)cannot load .*undefined symbol: f.*no library that it was linked"):
            ob.tvm_ffi(f"{library}:g", schema="tvm::needy(Tensor x) -> Tensor", out="x")(f32(1))

    def test_something_else_than_a_library(self) -> None:
        with pytest.raises(CallError, match="expected a library and its function"):
            ob.tvm_ffi("kernels.cpp:f", schema="tvm::f(Tensor x) -> Tensor")
        with pytest.raises(ManifestError, match="not a library of tvm-ffi"):
            ob.load("tvm_ffi:kernels.cpp:f", schema="tvm::f(Tensor x) -> Tensor", out="x")


class TestRuntime:
    def test_a_manifest_names_functions(self, library: Path, tmp_path: Path) -> None:
        shutil.copy(library, tmp_path)
        (tmp_path / "ops.yaml").write_text(
            "namespace: tvm_manifest\nops:\n"
            f"  - func: {ADD_SCALED}\n    out: x\n    kernels: {{cpu: 'tvm_ffi:kernels.so'}}\n"
            f"  - func: twice(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor\n    out: x\n"
            "    kernels: {cpu: 'tvm_ffi:kernels.so:add_scaled'}\n"
        )
        for _ in "built and cached":
            lib = ob.load(tmp_path / "ops.yaml")
            np.testing.assert_array_equal(lib.add_scaled(f32(3), f32(3)), lib.twice(f32(3), f32(3)))

    def test_tvm_ffis_own_package_shares_the_library(self, library: Path) -> None:
        code = (
            "import numpy as np, opbridge as ob\n"
            f"op = ob.tvm_ffi({str(library)!r} + ':add_scaled', schema='own::{ADD_SCALED}', out='x')\n"
            "x = np.ones(3, np.float32)\n"
            "assert op(x, x).tolist() == [2, 2, 2]\n"
            "import tvm_ffi\n"
            f"tvm_ffi.load_module({str(library)!r})['add_scaled'](*map(tvm_ffi.from_dlpack, (x, x)), 4.0, "
            "tvm_ffi.from_dlpack(out := np.empty_like(x)))\n"
            "assert out.tolist() == [5, 5, 5]\n"
            "copies = {line.split()[-1] for line in open('/proc/self/maps') if 'libtvm_ffi.so' in line}\n"
            "assert len(copies) == 1, copies\n"
        )
        succeed(code)

    def test_the_package_may_be_absent(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        # An environment without tvm-ffi.
        monkeypatch.setattr(sys, "path", [])
        monkeypatch.setattr(sys, "meta_path", [finder for finder in sys.meta_path if "ditable" not in str(finder)])
        monkeypatch.delitem(sys.modules, "tvm_ffi", raising=False)
        with pytest.raises(ToolchainError, match="pip install apache-tvm-ffi, or put"):
            tvm_ffi.runtime_library(tmp_path)
        (tmp_path / "libtvm_ffi.so").touch()
        assert tvm_ffi.runtime_library(tmp_path) == tmp_path / "libtvm_ffi.so"


def test_our_layouts_are_those_of_its_header(tmp_path: Path) -> None:
    same = [("Any", "TVMFFIAny"), ("Bytes", "TVMFFIByteArray"), ("Object", "TVMFFIObject"), ("Tensor", "DLTensor")]
    checks = [f"sizeof({ours}) == sizeof({theirs})" for ours, theirs in same]
    fields = {
        "Tensor": "data device ndim dtype shape strides byte_offset",
        "Error": "kind message backtrace",
        "Bytes": "data size",
    }
    theirs = dict(same) | {"Error": "TVMFFIErrorCell"}
    for struct, names in fields.items():
        checks += [f"offsetof({struct}, {name}) == offsetof({theirs[struct]}, {name})" for name in names.split()]
    checks += [
        "offsetof(Any, v) == offsetof(TVMFFIAny, v_int64)",
        "offsetof(Object, type) == offsetof(TVMFFIObject, type_index)",
    ]
    numbers = {"None": "None", "Int": "Int", "Bool": "Bool", "Float": "Float", "DataType": "DataType"}
    numbers |= {"TensorView": "DLTensorPtr", "RawString": "RawStr", "SmallString": "SmallStr", "String": "Str"}
    numbers |= {"FirstObject": "StaticObjectBegin", "Tensor": "Tensor", "Error": "Error", "Function": "Function"}
    checks += [f"k{ours} == static_cast<int>(kTVMFFI{theirs})" for ours, theirs in numbers.items()]
    devices = {"Cpu": "CPU", "Cuda": "CUDA", "Extension": "ExtDev"}
    checks += [f"k{ours} == static_cast<int>(kDL{theirs})" for ours, theirs in devices.items()]
    (tmp_path / "layout.cpp").write_text(
        "#include <tvm/ffi/c_api.h>\n#include <tvm_ffi.h>\nusing namespace opbridge::tvm_ffi;\n"
        + "".join(f"static_assert({check});\n" for check in checks)
    )
    flags = ["-std=c++17", "-fsyntax-only", f"-I{HEADERS}", f"-I{INCLUDE}", f"-I{INCLUDE.parent / 'native'}"]
    subprocess.run(["g++", *flags, tmp_path / "layout.cpp"], check=True)
