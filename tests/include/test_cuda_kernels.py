"""What `opbridge/kernel.h` promises in a `.cu`: run by the CUDA twin, with its checks and without, and compiled by nvcc
where there is one."""

from __future__ import annotations

import contextlib
import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opbridge.build.toolchains import BuildRequest, build, nvcc
from opbridge.twins.cuda.toolchain import CHECKS

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SOURCE = HERE / "cuda_kernels.cu"
CUDA = 2  # of abi.h

Array = np.ndarray[Any, np.dtype[Any]]
Host = Any  # of conftest.py

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on PATH")


def twin_library(*defines: tuple[str, str]) -> Path:
    return build(BuildRequest((SOURCE,), "cuda_kernels.so", language="cuda-twin", defines=defines)).path


@pytest.fixture(scope="session")
def checked(host_of: Callable[[Path], Host]) -> Host:
    return host_of(twin_library((CHECKS, "1")))


@pytest.fixture(scope="session", params=["checked", "unchecked"])
def twin(request: pytest.FixtureRequest, checked: Host, host_of: Callable[[Path], Host]) -> Host:
    return checked if request.param == "checked" else host_of(twin_library())


@pytest.fixture(scope="session")
def compiled(host_of: Callable[[Path], Host]) -> Host:
    """The same kernels by nvcc, which without a GPU get as far as the first launch."""
    flags = (*(f"-gencode=arch=compute_{n},code=sm_{n}" for n in (80, 90, 100)), "-Xcompiler=-Wall,-Wextra,-Werror")
    return host_of(build(BuildRequest((SOURCE,), "cuda_kernels.so", language="cuda", flags=flags)).path)


def f32(*values: float) -> Array:
    return np.array(values, np.float32)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32])
def test_a_parallel_loop_runs_on_the_device(twin: Host, dtype: Any) -> None:
    x, y = np.arange(1000).astype(dtype), np.ones(1000, dtype)
    out = np.zeros_like(x)
    twin("scaled_add", [x, y, 3.0], [out])
    np.testing.assert_array_equal(out, x + 3 * y)


def test_an_empty_loop_launches_nothing(twin: Host) -> None:
    twin("scaled_add", [f32(), f32(), 1.0], [f32()])


def test_shape_and_strides_are_there_in_device_code(twin: Host) -> None:
    x = np.arange(40 * 50, dtype=np.float64).reshape(40, 50)[::2]
    out = np.zeros((50, 20))
    twin("transpose", [x], [out], strided=True)
    np.testing.assert_array_equal(out, x.T)


def test_an_accessor_has_the_dimensions_it_says(twin: Host) -> None:
    with pytest.raises(RuntimeError, match=r"^transpose: expected a tensor of 2 dimensions, got one of shape \[3\]$"):
        twin("transpose", [f32(1, 2, 3)], [f32(0, 0, 0)])


def test_scratch_is_memory_of_the_device(twin: Host) -> None:
    out = f32(0)
    twin("total", [np.ones(5000, np.float32)], [out])
    assert out[0] == 5000
    with pytest.raises(RuntimeError, match="too_much: out of memory: no 17592186044416 bytes of scratch"):
        twin("too_much", [1 << 42], [out])


def test_a_list_of_tensors_is_for_the_host(twin: Host) -> None:
    out = f32(0, 0, 0)
    twin("concat", [[f32(1), f32(), f32(2, 3)]], [out])
    assert out.tolist() == [1, 2, 3]


def test_attributes_and_missing_tensors_reach_device_code_by_value(twin: Host) -> None:
    out = f32(0, 0)
    twin("affine", [f32(1, 2), f32(10, 20), 3, 5.0], [out])
    assert out.tolist() == [13, 26]
    twin("affine", [f32(1, 2), None, 0.5, ...], [out])
    assert out.tolist() == [0.5, 1]


def test_cudas_own_functions_take_the_16_bit_types(twin: Host) -> None:
    x = np.arange(-300, 300, dtype=np.float16)
    out = np.zeros_like(x)
    twin("square", [x], [out])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out, x * x)


def test_a_kernel_is_told_its_device(twin: Host) -> None:
    out = np.zeros(2, np.int64)
    twin("where", [], [out])
    assert out.tolist() == [CUDA, 3]


@pytest.mark.parametrize(
    ("symbol", "arguments", "says"),
    [
        ("checked", [99], r"checked: cudaSetDevice\(.*\) \(.*cuda_kernels\.cu:\d+\): .* \(cudaErrorInvalidDevice\)"),
        ("returned", [], r"returned: the kernel returned an error: invalid argument \(cudaErrorInvalidValue\)"),
    ],
)
def test_a_failing_call_of_cuda_names_the_kernel(twin: Host, symbol: str, arguments: list[Any], says: str) -> None:
    with pytest.raises(RuntimeError, match=says):
        twin(symbol, arguments, [f32(0)])


def test_a_failing_launch_is_an_error_of_this_call_and_no_other(twin: Host) -> None:
    out = f32(0)
    with pytest.raises(RuntimeError) as failure:
        twin("launched", [4096], [out])
    assert str(failure.value).startswith("launched: ")
    assert re.search("cudaErrorInvalidConfiguration|the block is \\(4096, 1, 1\\)", str(failure.value))
    twin("launched", [1], [out])


def test_another_host_calls_without_lending_anything(twin: Host) -> None:
    out, where = f32(0), np.zeros(2, np.int64)
    assert twin.foreign("total", [f32(1, 2, 3), out]) == 0
    assert twin.foreign("where", [where]) == 0
    assert (out[0], where.tolist()) == (6, [CUDA, 0])


@pytest.mark.parametrize(("symbol", "thread"), [("loop_beyond", 2), ("scratch_beyond", 8)])
def test_the_twins_checks_watch_loops_and_scratch(checked: Host, symbol: str, thread: int) -> None:
    with pytest.raises(RuntimeError) as failure:
        checked(symbol, [], [f32(0, 0)])
    assert str(failure.value).startswith(f"{symbol}: cuda-twin: ")
    assert "write of 4 bytes out of bounds" in str(failure.value)
    assert re.search(rf"cuda_kernels\.cu:\d+, thread \({thread}, 0, 0\)", str(failure.value))


# By nvcc.


@needs_nvcc
def test_a_launch_without_a_gpu_is_an_error_that_names_the_kernel(compiled: Host) -> None:
    """Or, where there is a GPU, a launch of too many threads."""
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"^launched: a launch or a call of CUDA failed: .* \(cudaError\w+\)$"):
            compiled("launched", [4096], [f32(0)], device_type=CUDA)
    with pytest.raises(RuntimeError, match=r"^returned: the kernel returned an error: invalid argument"):
        compiled("returned", [], [f32(0)], device_type=CUDA)


@needs_nvcc
def test_tables_of_the_call_never_lie_in_device_memory(compiled: Host) -> None:
    compiled.scratched.clear()
    with contextlib.suppress(RuntimeError):  # without a driver CUDA has only errors to tell
        compiled("concat", [[f32(), f32()]], [f32()], device_type=CUDA)
    assert compiled.scratched == []


@needs_nvcc
def test_a_half_is_converted_by_one_instruction(tmp_path: Path) -> None:
    command = [*nvcc.find(), "-std=c++17", "-arch=compute_80", "-ptx", f"-I{ROOT}/src/opbridge/include"]
    source = tmp_path / "convert.cu"
    source.write_text(
        "#include <opbridge/kernel.h>\n"
        "template <class To, class From> __global__ void convert(From* x, To* y) { *y = *x; }\n"
        "template __global__ void convert(ob::half*, float*);\n"
        "template __global__ void convert(float*, ob::half*);\n"
        "template __global__ void convert(float*, ob::bfloat16*);\n"
    )
    subprocess.run([*command, str(source), "-o", str(tmp_path / "convert.ptx")], check=True)
    instructions = re.findall(r"\bcvt\.[\w.]+", (tmp_path / "convert.ptx").read_text())
    assert sorted(instructions) == ["cvt.f32.f16", "cvt.rn.bf16.f32", "cvt.rn.f16.f32"]


@needs_nvcc
def test_what_lies_in_the_hosts_memory_is_refused_in_device_code(tmp_path: Path) -> None:
    command = [*nvcc.find(), "-std=c++17", "--expt-relaxed-constexpr", "-arch=sm_80", f"-I{ROOT}/src/opbridge/include"]
    for member in ("x.size(0)", "x.stride(0)", "x(0, 0)", "ints[0]"):
        source = tmp_path / "device.cu"
        source.write_text(
            "#include <opbridge/kernel.h>\n"
            "__global__ void k(ob::In<float> x, ob::Ints ints, float* out) { *out = " + member + "; }\n"
        )
        done = subprocess.run([*command, "-c", str(source), "-o", "/dev/null"], capture_output=True, text=True)
        assert "calling a __host__ function" in done.stderr, member


# The documentation.


def examples() -> list[str]:
    return re.findall(r"```c\+\+.*?\n(.*?)```", (ROOT / "docs" / "cuda-kernels.md").read_text(), re.DOTALL)


def test_the_first_example_is_a_kernel_for_the_cpu_too(tmp_path: Path, host_of: Callable[[Path], Host]) -> None:
    (tmp_path / "scaled_add.cu").write_text(examples()[0])
    (tmp_path / "scaled_add.cpp").write_text('#include "scaled_add.cu"\n')
    kernels = host_of(build(BuildRequest((tmp_path / "scaled_add.cpp",), "scaled_add.so")).path)
    out = f32(0, 0)
    kernels("scaled_add", [f32(1, 2), f32(3, 4), 2.0], [out])
    assert out.tolist() == [7, 10]


BY_NVCC = [needs_nvcc, pytest.mark.matrix("the twin compiles them; the tests above compile kernels by nvcc")]


@pytest.mark.parametrize("language", ["cuda-twin", pytest.param("cuda", marks=BY_NVCC)])
def test_the_examples_in_the_documentation_compile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    monkeypatch.setenv(nvcc.ARCHITECTURES, "80")
    assert len(examples()) >= 3
    for number, example in enumerate(examples()):
        source = tmp_path / f"example{number}.cu"
        source.write_text(example)
        library = build(BuildRequest((source,), f"example{number}.so", language=language))
        ctypes.CDLL(str(library.path))
