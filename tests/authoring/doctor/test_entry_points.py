"""What a library offers: kernels of every kind, made by their own headers."""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import opbridge as ob
from opbridge._core import load_kernel
from opbridge.authoring.doctor import EntryPoint, examine
from opbridge.build.toolchains.interface import INCLUDE
from opbridge.waist.schema import Schema

KERNELS = Path(__file__).parents[2] / "kernels"
Compile = Callable[..., Path]


def offered(library: Path) -> dict[str, EntryPoint]:
    report = examine(library)
    assert report.problems == []
    return {entry.name: entry for entry in report.entry_points}


@pytest.fixture(scope="module", params=sorted(path.name for path in KERNELS.glob("*.cpp")))
def kernels(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("kernels") / "kernels.so"
    command = ["g++", "-std=c++17", "-shared", "-fPIC", f"-I{INCLUDE}", KERNELS / request.param, "-o", library]
    subprocess.run(command, check=True)
    return library


def test_kernels_of_ours_are_read_as_the_core_reads_them(kernels: Path) -> None:
    found = {name: entry for name, entry in offered(kernels).items() if entry.kind == "kernel on kernel.h"}
    assert found
    for name, entry in found.items():
        described = load_kernel(str(kernels), name).describe()
        parameters, _, types = entry.details.partition(")")
        # The core counts equal neighbours: `In<T> x2`.
        for part in described.partition(")")[0].strip("(").split(", "):
            assert part.partition(" x")[0] in parameters
        assert described.partition(")")[2] == types


def test_the_line_to_use_a_kernel_works(compile_library: Compile) -> None:
    library = compile_library(
        "#include <opbridge/kernel.h>\n"
        "template <class T>\nvoid doctored(ob::In<T> a, ob::Optional<ob::In<T>> b, ob::Out<T> out, double alpha) {\n"
        "  for (int64_t i = 0; i < out.numel(); ++i) out[i] = a[i] * T(alpha);\n}\n"
        "OB_KERNEL(doctored, float, double)\n",
        f"-I{INCLUDE}",
    )
    entry = offered(library)["doctored"]
    assert entry.details == "(In<T>, Optional<In<T>>, Out<T>, double) for float32, float64"
    assert entry.use == (
        f'ob.aot("{library}:doctored", schema="mylib::doctored(Tensor x, Tensor? y, *, float a0) -> Tensor", out="x")'
    )
    schema = entry.use.partition('schema="')[2].partition('"')[0]
    assert str(Schema.parse(schema)) == schema
    numpy = pytest.importorskip("numpy")
    op = ob.aot(f"{library}:doctored", schema=schema, out="x")
    assert op(numpy.ones(2), None, a0=3.0).tolist() == [3, 3]


def test_functions_with_mindspores_block_and_bare_ones(compile_library: Compile) -> None:
    found = offered(
        compile_library(
            'extern "C" { int Scale() { return 0; } int ScaleInit() { return 0; } int Bare() { return 0; } }'
        )
    )
    assert found["Scale"].kind == "MindSpore's aot function with attributes"
    assert found["Bare"].kind == "C function"
    assert set(found) == {"Scale", "Bare"}


def test_a_kernel_of_ours_with_the_calls_of_other_hosts(compile_library: Compile) -> None:
    source = (
        "#include <opbridge/kernel.h>\nvoid one(ob::In<float> x, ob::Out<float> out) { out[0] = x[0]; }\n"
        'OB_KERNEL(one)\nextern "C" { int oneInit() { return 0; } int __tvm_ffi_one() { return 0; } }\n'
    )
    report = examine(compile_library(source, f"-I{INCLUDE}"))
    assert [(entry.kind, entry.details) for entry in report.entry_points] == [
        ("kernel on kernel.h", "(In<float32>, Out<float32>); MindSpore alone can use it too"),
        ("tvm-ffi function", "outputs come last; the schema is yours to write"),
    ]
    assert all('schema="mylib::one(Tensor x) -> Tensor"' in entry.use for entry in report.entry_points)


def test_functions_of_tvm_ffi(compile_library: Compile) -> None:
    source = 'extern "C" { int __tvm_ffi_add_one() { return 0; } int __tvm_ffi__metadata_add_one() { return 0; } }'
    found = offered(compile_library(source))
    assert set(found) == {"add_one"}
    assert found["add_one"].use.startswith("ob.tvm_ffi(")


def test_a_python_module_is_imported_by_its_name(compile_library: Compile) -> None:
    library = compile_library('extern "C" void* PyInit_made() { return 0; } const char* by = "pybind11";')
    entry = offered(library)["made"]
    assert (entry.kind, entry.details) == ("Python module", "by pybind11")
    assert entry.use == f'import sys; sys.path.insert(0, "{library.parent}"); import made'
    other = offered(library.rename(library.with_name("other.so")))["made"]
    assert "rename the file to made.so" in other.details


def test_operators_that_a_library_registers(compile_library: Compile) -> None:
    library = compile_library(
        "namespace torch { struct Library { Library(); ~Library(); }; }\n"
        "static void TORCH_LIBRARY_init_my_ops_2_13(torch::Library&) {}\n"
        "static void TORCH_LIBRARY_IMPL_init_other_CPU_3(torch::Library&) {}\n"
        'extern "C" void use(torch::Library& made) {\n'
        "  TORCH_LIBRARY_init_my_ops_2_13(made);\n  TORCH_LIBRARY_IMPL_init_other_CPU_3(made);\n}\n"
        "static torch::Library made;\n"
    )
    entry = next(entry for entry in examine(library).entry_points if entry.kind == "TORCH_LIBRARY")
    assert entry.name == "my_ops_2_13, other"
    assert entry.use == f'import torch; torch.ops.load_library("{library}"), then torch.ops.my_ops_2_13.NAME(...)'


@pytest.mark.parametrize("oldest", ["torch", "aoti_torch"])
def test_operators_on_the_stable_abi(compile_library: Compile, oldest: str) -> None:
    """The functions that a library calls are others where it is built for PyTorch 2.9 than later."""
    library = compile_library(
        f'extern "C" void {oldest}_library_init_fragment();\n'
        "static void STABLE_TORCH_LIBRARY_FRAGMENT_init_my_ops_2_13_0(void*) {}\n"
        f'extern "C" void use() {{ {oldest}_library_init_fragment(); '
        "STABLE_TORCH_LIBRARY_FRAGMENT_init_my_ops_2_13_0(nullptr); }\n"
    )
    entry = next(entry for entry in examine(library).entry_points if entry.kind == "TORCH_LIBRARY")
    assert entry.name == "my_ops_2_13"


def test_handlers_of_xla(compile_library: Compile) -> None:
    jaxlib = importlib.util.find_spec("jaxlib")
    if jaxlib is None or not jaxlib.submodule_search_locations:
        pytest.skip("jaxlib is not installed")
    library = compile_library(
        '#include "xla/ffi/api/ffi.h"\nnamespace ffi = xla::ffi;\n'
        "static ffi::Error twice(ffi::Buffer<ffi::F32>, ffi::ResultBuffer<ffi::F32>) {\n"
        "  return ffi::Error::Success();\n}\n"
        "XLA_FFI_DEFINE_HANDLER_SYMBOL(Twice, twice, "
        "ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());\n",
        f"-I{jaxlib.submodule_search_locations[0]}/include",
    )
    entry = offered(library)["Twice"]
    assert entry.kind == "XLA FFI handler"
    assert entry.use.startswith('jax.ffi.register_ffi_target("Twice", ')
