"""get_torch_tensors, called as MindSpore calls: every dtype, every shape, and what it refuses."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from subprocesses import succeed

from opbridge.base.errors import BuildError
from opbridge.build.toolchains import BuildRequest, build
from opbridge.build.toolchains.torch_install import TorchInstall

PROBE = """
#include <torch/extension.h>
#include "ms_ext.h"

// Writes what the first parameter became, or why it became nothing, into `extra`.
extern "C" int Probe(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes, void* stream,
                     void* extra) try {
  const auto tensors = get_torch_tensors(nparam, params, ndims, shapes, dtypes, c10::kCPU);
  const torch_stream_guard guard(stream, c10::kCPU);
  const auto& first = tensors.at(0);
  std::ostringstream said;
  said << first.scalar_type() << ' ' << first.sizes() << ' ' << first.is_contiguous() << ' '
       << (first.numel() == 0 || first.data_ptr() == params[0]);
  std::strcpy(static_cast<char*>(extra), said.str().c_str());
  return 0;
} catch (const std::exception& error) {
  std::strcpy(static_cast<char*>(extra), error.what());
  return 1;
}
"""

NAMES = {
    "bool": "Bool",
    "bool_": "Bool",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "uint8": "Byte",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "float32": "Float",
    "float64": "Double",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
    "float8_e4m3fn": "Float8_e4m3fn",
    "float8_e5m2": "Float8_e5m2",
    "half": "Half",
    "float": "Float",
    "double": "Double",
    "int": "Int",
    "uint": "UInt32",
}
"""MindSpore's names of element types, and ATen's."""


class Probe:
    def __init__(self, library: Path) -> None:
        self.library = library
        self._function = ctypes.CDLL(str(library)).Probe

    def __call__(self, dtype: str, shape: Sequence[int] = (2, 3), data: bool = True) -> tuple[int, str]:
        memory, said = ctypes.create_string_buffer(1024), ctypes.create_string_buffer(512)
        sizes = (ctypes.c_int64 * 8)(*shape)
        code = self._function(
            1,
            (ctypes.c_void_p * 1)(ctypes.addressof(memory) if data else None),
            (ctypes.c_int * 1)(len(shape)),
            (ctypes.c_void_p * 1)(ctypes.addressof(sizes)),
            (ctypes.c_char_p * 1)(dtype.encode()),
            None,
            said,
        )
        return code, said.value.decode()


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    # In the user's own cache, which has PyTorch's headers precompiled when this is not the first run.
    source = tmp_path_factory.mktemp("probe") / "probe.cpp"
    source.write_text(PROBE)
    return Probe(build(BuildRequest((source,), "probe.so")).path)


@pytest.mark.parametrize("name", NAMES)
def test_every_dtype_is_viewed_in_place(probe: Probe, name: str) -> None:
    assert probe(name) == (0, f"{NAMES[name]} [2, 3] 1 1")


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 0, 3), (1, 2, 3, 4, 5)])
def test_every_shape_is(probe: Probe, shape: tuple[int, ...]) -> None:
    assert probe("float32", shape) == (0, f"Float {list(shape)} 1 1")


def test_an_empty_tensor_needs_no_memory(probe: Probe) -> None:
    assert probe("float32", (2, 0), data=False) == (0, "Float [2, 0] 1 1")


def test_a_parameter_without_memory_is_refused(probe: Probe) -> None:
    assert probe("float32", data=False) == (1, "get_torch_tensors: parameter 0 has no data on CPU")


@pytest.mark.parametrize("name", ["none", "hifloat8", "qint4x2", ""])
def test_a_type_that_pytorch_lacks_is_named(probe: Probe, name: str) -> None:
    assert probe(name) == (1, f"get_torch_tensors: parameter 0 has the type {name}, which PyTorch has no tensors of")


def test_another_pytorch_than_its_own_is_refused(probe: Probe, tmp_path: Path) -> None:
    """In a process that finds the same PyTorch at a place that calls it a later one."""
    later = tmp_path / "torch"
    (later / "lib").mkdir(parents=True)
    (later / "version.py").write_text("__version__ = '99.1.0+cpu'\n")
    installed = TorchInstall.found()
    for library in installed.lib.glob("lib*.so*"):
        (later / "lib" / library.name).symlink_to(library)
    code = (
        "import ctypes; said = ctypes.create_string_buffer(512); "
        f"ctypes.CDLL({str(probe.library)!r}).Probe(0, None, None, None, None, None, said); print(said.value.decode())"
    )
    environment = {**os.environ, "LD_LIBRARY_PATH": str(later / "lib")}
    said = succeed(code, env=environment)
    built_for = installed.version.partition("+")[0]
    assert said == (
        f"this library was compiled for PyTorch {built_for} and finds 99.1.0+cpu in {later}; "
        "compile it again: opbridge compile SOURCE LIBRARY.so\n"
    )


def test_another_ms_ext_beside_the_source_is_explained(tmp_path: Path) -> None:
    (tmp_path / "ms_ext.h").write_text("void* get_torch_tensors(int count, void** memory);\n")
    source = tmp_path / "probe.cpp"
    source.write_text(
        '#include "ms_ext.h"\n'
        'extern "C" int Probe(int nparam, void** params, int*, long**, const char**, void*, void*) {\n'
        "  return get_torch_tensors(nparam, params) != nullptr;\n"
        "}\n"
    )
    with pytest.raises(BuildError, match=r"undefined symbol: get_torch_tensors(?s:.*)remove the other ms_ext\.h"):
        build(BuildRequest((source,), "probe.so"))
