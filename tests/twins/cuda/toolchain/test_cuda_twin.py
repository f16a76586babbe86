"""The CUDA twin as a toolchain: what it builds, when it builds again, and what it says of sources it cannot take."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from forked_python import PYTHON
from tests.helpers.compilers import needs_clang

from opbridge.base.errors import BuildError
from opbridge.build.cache import Cache
from opbridge.build.toolchains import BuildRequest, Toolchain, build
from opbridge.build.toolchains.interface import PROFILE
from opbridge.twins.common import toolchain as rewriting
from opbridge.twins.cuda import toolchain as cuda_twin
from opbridge.twins.cuda.unique_symbols import RELOCATABLE

MakeRequest = Callable[..., BuildRequest]

DOUBLED = """
#include "number.cuh"
__global__ void doubled(int* x) { *x = 2 * number(); }
extern "C" int answer() {
  int *x, result;
  cudaMalloc(&x, sizeof(int));
  doubled<<<1, 1>>>(x);
  cudaMemcpy(&result, x, sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(x);
  return result;
}
"""
LEFT_OVER = """
__global__ void left_over(const float* x, float* y) { *y = x[0] * x[0] - x[1]; }
extern "C" int answer() {
  float *x, *y, values[] = {1.000244140625f, 1.00048828125f}, result;  // 1 + 2^-12, 1 + 2^-11
  cudaMalloc(&x, sizeof values);
  cudaMalloc(&y, sizeof(float));
  cudaMemcpy(x, values, sizeof values, cudaMemcpyHostToDevice);
  left_over<<<1, 1>>>(x, y);
  cudaMemcpy(&result, y, sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(x);
  cudaFree(y);
  return int(result * (1 << 24));
}
"""
HEADER = "#pragma once\n__device__ inline int number() { return %d; }\n"


def twin(request: BuildRequest, **changes: object) -> BuildRequest:
    return replace(request, language="cuda-twin", **changes)  # type: ignore[arg-type]


def answer(library: Path) -> int:
    result: int = ctypes.CDLL(str(library)).answer()
    return result


def test_the_module_is_a_toolchain() -> None:
    toolchain: Toolchain = cuda_twin
    assert toolchain.suffixes[0] == ".cu"


def test_a_kernel_is_built_again_when_a_header_changes(cache: Cache, project: Path, request_for: MakeRequest) -> None:
    request = twin(request_for(DOUBLED, "k.cu"))
    (project / "number.cuh").write_text(HEADER % 21)
    first, again = build(request, cache), build(request, cache)
    assert (answer(first.path), first.cached, again.cached) == (42, False, True)
    (project / "number.cuh").write_text(HEADER % 4)
    changed = build(request, cache)
    assert (answer(changed.path), changed.cached) == (8, False)


def test_a_kernel_is_built_again_when_what_rewrites_it_changes(
    cache: Cache, project: Path, request_for: MakeRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "number.cuh").write_text(HEADER % 21)
    request = twin(request_for(DOUBLED, "k.cu"))
    before, then = rewriting.state("cuda"), build(request, cache)
    # Another state of our own sources, which a test must not edit.
    monkeypatch.setattr(rewriting, "state", lambda twin: f"another {twin}")
    changed = build(request, cache)
    assert len(before) == 64
    assert (changed.path != then.path, changed.cached) == (True, False)


def test_checks_are_another_build(cache: Cache, project: Path, request_for: MakeRequest) -> None:
    (project / "number.cuh").write_text(HEADER % 21)
    request = twin(request_for(DOUBLED, "k.cu"))
    fast, checked = build(request, cache), build(replace(request, defines=((cuda_twin.CHECKS, "1"),)), cache)
    assert fast.path != checked.path
    assert answer(fast.path) == answer(checked.path) == 42


OF_ITS_OWN_NAME = """
template <int n> struct Number { static constexpr int value = n; };
template <int n> struct Doubled {
  using Number = Number<2 * n>;
  Number number;
};
__global__ void doubled(int* x) { *x = decltype(Doubled<21>().number)::value; }
"""


@pytest.mark.parametrize(("given", "taken"), [("-O3", "-O1"), ("-O2", "-O1"), ("-O0", "-O0"), ("-Ofast", "-Ofast")])
def test_where_memory_is_checked_a_projects_level_is_not_for_kernels(
    request_for: MakeRequest, tmp_path: Path, given: str, taken: str
) -> None:
    request = twin(request_for("__global__ void nothing() {}", "k.cu"), flags=(given,))

    def level(request: BuildRequest) -> str:
        (command,) = cuda_twin.commands(request, tmp_path).compiles
        return [word for word in command.argv if word.startswith("-O")][-1]

    assert level(request) == given
    assert level(replace(request, defines=((cuda_twin.CHECKS, "1"),))) == taken


@pytest.mark.matrix("test_checks_are_another_build; at this level the twin's library is built once more")
@pytest.mark.optimized
def test_checks_round_as_a_kernel_does_without_them(cache: Cache, request_for: MakeRequest) -> None:
    """A product that is rounded before something is taken from it leaves nothing here, and one that is not a bit."""
    request = twin(request_for(LEFT_OVER, "k.cu"))
    without, checked = (
        build(replace(request, defines=defines), cache).path for defines in ((), ((cuda_twin.CHECKS, "1"),))
    )
    assert answer(checked) == answer(without)


def test_an_alias_in_a_class_may_have_the_name_of_what_it_stands_for(
    cache: Cache, project: Path, request_for: MakeRequest
) -> None:
    """nvcc, which reads sources itself first, takes it; layer-norm of kernels-community, CUTLASS and CUB have such."""
    own = OF_ITS_OWN_NAME + DOUBLED[DOUBLED.index('extern "C"') :]
    assert answer(build(twin(request_for(own, "k.cu")), cache).path) == 42


def test_what_else_a_permissive_compiler_takes_is_an_error(
    cache: Cache, project: Path, request_for: MakeRequest
) -> None:
    wrong = OF_ITS_OWN_NAME.replace("*x =", "x = x[0], *x =")
    with pytest.raises(BuildError, match=r"k\.cu:7:.*\n?.*invalid conversion from .int. to .int\*"):
        build(twin(request_for(wrong, "k.cu")), cache)


def test_counting_takes_the_headers_that_are_precompiled_for_checks(request_for: MakeRequest) -> None:
    checked = request_for(DOUBLED, "doubled.cu", language="cuda-twin", defines=((cuda_twin.CHECKS, "1"),))
    counted = replace(checked, defines=(*checked.defines, (PROFILE, "1")))
    commands = [cuda_twin.precompile(request, Path("large.h"), Path("large.h")) for request in (checked, counted)]
    assert commands[0] == commands[1] is not None


def test_several_sources_share_their_device_functions(cache: Cache, project: Path, request_for: MakeRequest) -> None:
    # Not inlined, so that the linker keeps one of the two.
    (project / "number.cuh").write_text(
        "#pragma once\n"
        "template <class T> __device__ __noinline__ T number() { return threadIdx.x + 10 * blockIdx.x; }\n"
    )
    source = """
    #include "number.cuh"
    static __global__ void set(int* x) { atomicAdd(x, number<int>()); }
    extern "C" int answer_%s() {
      int* x;
      cudaMallocManaged(&x, sizeof(int));
      *x = 0;
      set<<<2, 3>>>(x);
      const int result = *x;
      cudaFree(x);
      return result;
    }
    """
    requests = [request_for(source % name, f"{name}.cu") for name in ("one", "two")]
    library = build(twin(requests[0], sources=tuple(request.sources[0] for request in requests)), cache)
    loaded = ctypes.CDLL(str(library.path))
    assert (loaded.answer_one(), loaded.answer_two()) == (36, 36)


@pytest.mark.parametrize("checks", [(), ((cuda_twin.CHECKS, "1"),)], ids=["plain", "checks"])
def test_device_code_is_its_sources_own(
    cache: Cache, project: Path, request_for: MakeRequest, checks: tuple[tuple[str, str], ...]
) -> None:
    """As each source's are on a GPU, where nothing joins them; what the host has in inline functions, all share."""
    (project / "calls.h").write_text("#pragma once\ninline int& calls() { static int count = 0; return count; }\n")
    source = """
    #include "calls.h"
    struct Point {
      NUMBER x, y;
      __device__ __noinline__ Point() : x(FACTOR), y(0) {}
      __device__ __noinline__ Point operator+(const Point& other) const { return sum(*this, other); }
      template <class T> __device__ __noinline__ static T sum(T a, const T& b) { a.x += FACTOR * b.x; return a; }
    };
    namespace tables { __constant__ NUMBER factors[] = {1, FACTOR}; }
    __device__ int launches;
    static __global__ void NAME_kernel(int* x) {
      *x = int((Point() + Point()).x + tables::factors[1]) + 100 * atomicAdd(&launches, 1);
    }
    extern "C" int NAME() {
      int* x;
      cudaMallocManaged(&x, sizeof(int));
      NAME_kernel<<<1, 1>>>(x);
      cudaDeviceSynchronize();
      const int result = *x + 1000 * ++calls();
      cudaFree(x);
      return result;
    }
    """
    requests = []
    for name, number, factor in (("one", "float", "2"), ("two", "double", "3")):
        text = source.replace("NAME", name).replace("NUMBER", number).replace("FACTOR", factor)
        requests.append(request_for(text, f"{name}.cu"))
    both = twin(requests[0], sources=tuple(request.sources[0] for request in requests), defines=checks)
    library = ctypes.CDLL(str(build(both, cache).path))
    assert [library.one(), library.one()] == [1000 + 2 + 2 * 2 + 2, 2000 + 2 + 2 * 2 + 2 + 100]
    assert library.two() == 3000 + 3 + 3 * 3 + 3


def test_device_functions_that_are_linked_are_everybodys(cache: Cache, project: Path, request_for: MakeRequest) -> None:
    text = "template <class T> __device__ T number() { return 1; }\n__global__ void NAME() { number<int>(); }\n"
    requests = [request_for(text.replace("NAME", name), f"{name}.cu") for name in ("one", "two")]
    sources = tuple(request.sources[0] for request in requests)
    request = twin(BuildRequest(sources, "both.so", flags=("-O0",)))
    for defines, functions in (((), 2), (((RELOCATABLE, "1"),), 1)):
        library = build(replace(request, defines=defines), cache).path
        listed = subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout
        assert len(re.findall(r" _Z6numberIiET_v\b", listed)) == functions


def test_a_kernel_knows_its_lines_and_no_types(cache: Cache, project: Path, request_for: MakeRequest) -> None:
    (project / "number.cuh").write_text(HEADER % 21)
    library = build(twin(request_for(DOUBLED, "k.cu"), defines=((cuda_twin.CHECKS, "1"),)), cache)
    read = ["readelf", "--debug-dump=info,decodedline", library.path]
    information = subprocess.run(read, capture_output=True, text=True, check=True).stdout
    assert re.search(r"^k\.cu\s+\d+ ", information, re.MULTILINE)
    assert "DW_TAG_formal_parameter" not in information


def test_a_kernel_takes_nothing_from_a_cuda_that_the_process_shows(
    cache: Cache, project: Path, request_for: MakeRequest, tmp_path: Path
) -> None:
    """PyTorch's build for GPUs shows NVIDIA's library to the whole process, where it knows of no GPU."""
    (project / "number.cuh").write_text(HEADER % 21)
    kernel = build(twin(request_for(DOUBLED, "k.cu")), cache).path
    source, versions, shown = tmp_path / "cudart.c", tmp_path / "versions", tmp_path / "libcudart.so.13"
    source.write_text("int cudaMalloc(void) { return 35; }\nint cudaMemcpy(void) { return 35; }\n")
    versions.write_text("libcudart.so.13 { global: *; };")
    script = f"-Wl,--version-script={versions}"
    subprocess.run([*cuda_twin.find(), "-x", "c", "-shared", "-fPIC", script, source, "-o", shown], check=True)
    program = (
        "import ctypes, sys; ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL); print(ctypes.CDLL(sys.argv[2]).answer())"
    )
    command = [PYTHON, "-c", program, shown, kernel]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "42\n"


def test_a_kernel_finds_its_library_beside_itself(
    cache: Cache, project: Path, request_for: MakeRequest, tmp_path: Path
) -> None:
    (project / "number.cuh").write_text(HEADER % 21)
    library = build(twin(request_for(DOUBLED, "k.cu")), cache)
    dynamic = subprocess.run(["readelf", "-d", library.path], capture_output=True, text=True, check=True).stdout
    assert "Shared library: [libopbridge_cuda_twin.so]" in dynamic
    assert "$ORIGIN" in dynamic


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        ("#include <nccl.h>", 1, "NCCL: not supported by the CUDA twin, which docs/cuda.md says more about"),
        ('\n__device__ void f() {\n  asm volatile("wgmma.fence;");\n}', 3, "`wgmma` of inline PTX assembly, which"),
        ("texture<float, 2> t;", 1, "texture references, which CUDA 12 removed: not supported"),
        ("__global__ void k() { __shfl_down(1.0f, 1); }", 1, "__shfl_down_sync(mask, ...) takes their mask first"),
        ("void f() { int g; cudaGraphAddNode(g, 0); }", 1, "nodes of graphs of any kind by one function"),
        ("void f() {\n  k<<<1, 2>>;\n}", 2, "expected >>> and the kernel's arguments after <<<"),
        ("__global__ void k();\nvoid f() { k<<<1>>>(); }", 2, "<<<blocks, threads>>> takes two to four values"),
        ("__global__ void k(int* x) {\n  *x = nothing;\n}", 2, "nothing"),
        ("#include <cooperative_groups.h>\nusing T = cooperative_groups::thread_block_tile<2048>; T t() { return {}; }",
         2, "a tile has at most 1024 threads"),
    ],
)  # fmt: skip
def test_an_error_names_the_line_that_the_user_wrote(
    cache: Cache, project: Path, request_for: MakeRequest, source: str, line: int, message: str
) -> None:
    with pytest.raises(BuildError) as caught:
        build(twin(request_for(source, "broken.cu")), cache)
    text = str(caught.value)
    assert message in text
    assert f"broken.cu:{line}" in text


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    "line",
    [
        "void f(float* x, int n) { k<<<1, 3>>>(x, unknown); }",
        "\tvoid g(float* x) { k<<<1, 3>>>(x, 3); k<<<1, 3>>>(x, unknown); }",
        "__global__ void h(float* x) { __shared__ float s[32]; s[0] = unknown; }",
        "__global__ void i(float* x) { x[threadIdx.x] = unknown; }",
    ],
)
def test_an_error_is_where_the_user_wrote_it(cache: Cache, request_for: MakeRequest, line: str) -> None:
    with pytest.raises(BuildError) as caught:
        build(twin(request_for(f"__global__ void k(float* x, int n);\n{line}\n", "broken.cu")), cache)
    column = line.expandtabs(8).index("unknown") + 1
    assert f"broken.cu:2:{column}: error: ‘unknown’ was not declared" in str(caught.value)


def test_what_the_preprocessor_drops_may_be_anything(cache: Cache, request_for: MakeRequest) -> None:
    source = """
    #if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    #include <nccl.h>
    #endif
    __global__ void set(int* x) {
    #if __CUDA_ARCH__ >= 900
      asm volatile("griddepcontrol.wait;");
    #else
      *x = 42;
    #endif
    }
    extern "C" int answer() {
      int* x;
      cudaMallocManaged(&x, sizeof(int));
      set<<<1, 1>>>(x);
      return *x;
    }
    """
    assert answer(build(twin(request_for(source, "k.cu")), cache).path) == 42


def test_a_folder_with_modules_named_like_python_s_own_is_no_trap(
    cache: Cache, project: Path, request_for: MakeRequest
) -> None:
    (project / "number.cuh").write_text(HEADER % 21)
    for name in ("subprocess", "re", "opbridge"):
        (project / f"{name}.py").write_text("raise SystemExit('this is not the module you look for')\n")
    assert answer(build(twin(request_for(DOUBLED, "k.cu")), cache).path) == 42


@needs_clang
@pytest.mark.matrix("the other tests here do the same with g++")
def test_clang_builds_kernels_too(
    cache: Cache, project: Path, request_for: MakeRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "number.cuh").write_text(HEADER % 21)
    monkeypatch.setenv("CXX", "clang++")
    request = twin(request_for(DOUBLED, "k.cu"))
    assert answer(build(request, cache).path) == 42
    assert answer(build(replace(request, defines=((cuda_twin.CHECKS, "1"),)), cache).path) == 42


@pytest.mark.cases(1)
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on PATH")
@pytest.mark.parametrize("name", ["launches.cu", "blocks.cu", "warps.cu", "failing.cu"])
def test_nvcc_takes_the_kernels_of_the_twin_s_tests(name: str) -> None:
    source = Path(__file__).parents[3] / "twins" / "cuda" / "kernels" / name
    flags = ("-std=c++17", "-arch=sm_90", "--extended-lambda", "-c", "-o", os.devnull)
    done = subprocess.run(["nvcc", *flags, str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
