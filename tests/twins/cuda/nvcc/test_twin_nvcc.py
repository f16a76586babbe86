"""`opbridge twin nvcc` in the place of nvcc: programs, objects, libraries, a Makefile and a CMake project."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from opbridge.build.cache import Cache
from opbridge.twins.cuda import nvcc as twin_nvcc

Run = Callable[..., subprocess.CompletedProcess[str]]

MAIN = """
#include <cstdio>
void fill(int* values, int n);
int main(int argc, char**) {
  int* values;
  cudaMallocManaged(&values, 64 * sizeof(int));
  fill(values, 64 * argc);
  printf("%d\\n", values[63]);
  cudaFree(values);
}
"""
KERNEL = """
__device__ int square(int x);
__global__ void squares(int* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = square(i);
}
void fill(int* values, int n) {
  squares<<<(n + 31) / 32, 32>>>(values, n);
  cudaDeviceSynchronize();
}
"""
SQUARE = '#include "square.h"\n__device__ int square(int x) { return POWER(x); }\n'
HEADER = "#define POWER(x) ((x) * (x))\n"


@pytest.fixture(scope="module")
def home() -> Path:
    return twin_nvcc.write(Cache().root / "cuda")


@pytest.fixture
def run(home: Path, tmp_path: Path) -> Run:
    """Runs a command where nvcc is the stand-in, beside a program of three sources."""
    for name, text in {"main.cu": MAIN, "kernel.cu": KERNEL, "square.cu": SQUARE, "square.h": HEADER}.items():
        (tmp_path / name).write_text(text)
    variables = {**os.environ, "PATH": f"{home / 'bin'}:{os.environ['PATH']}"}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=300)

    return run


@pytest.mark.matrix("test_a_program_with_findings_says_so_on_stderr_and_by_its_exit_code compiles the same three")
def test_several_sources_become_a_program_in_one_line(run: Run) -> None:
    made = run("nvcc", "-O2", "-rdc=true", "main.cu", "kernel.cu", "square.cu", "-o", "app")
    assert made.returncode == 0, made.stderr
    done = run("./app")
    assert (done.stdout, done.stderr, done.returncode) == ("3969\n", "", 0)


def test_a_program_with_findings_says_so_on_stderr_and_by_its_exit_code(run: Run) -> None:
    assert run("nvcc", "main.cu", "kernel.cu", "square.cu").returncode == 0
    found = run("./a.out", "more")
    assert "squares: write of 4 bytes out of bounds" in found.stderr
    assert "kernel.cu:5" in found.stderr
    assert found.returncode == 86


def test_objects_go_into_libraries_and_name_what_they_depend_on(run: Run, tmp_path: Path) -> None:
    for source in ("kernel", "square"):
        done = run("nvcc", "-dc", "-MMD", "-MP", f"{source}.cu", "-o", f"{source}.o")
        assert done.returncode == 0, done.stderr
    rule = (tmp_path / "square.d").read_text()
    assert rule.startswith("square.o:")
    assert str(tmp_path / "square.cu") in rule
    assert str(tmp_path / "square.h") in rule
    assert run("nvcc", "-dlink", "kernel.o", "square.o", "-o", "device.o").returncode == 0
    assert run("nvcc", "-lib", "kernel.o", "square.o", "device.o", "-o", "libkernels.a").returncode == 0
    assert run("nvcc", "main.cu", "-L.", "-lkernels", "-lcudart", "-o", "app").returncode == 0
    assert run("./app").stdout == "3969\n"


def test_make_finds_what_a_rule_names_and_has_nothing_to_do_the_second_time(run: Run, tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("square.o: square.cu\n\tnvcc -c -MMD $< -o $@\n-include square.d\n")
    assert run("make").returncode == 0
    again = run("make")
    assert (again.returncode, again.stdout) == (0, "make: 'square.o' is up to date.\n"), again.stderr


def test_the_prelude_is_read_as_it_was_precompiled_from_the_second_source_on(run: Run, tmp_path: Path) -> None:
    # What the first source gets is in test_prelude.py: here another test may have been first.
    (tmp_path / "first.cu").write_text("__global__ void first() {}\n")
    # Sources with other options have another prelude.
    options = ("-c", "-Xcompiler", "-H")
    assert run("nvcc", *options, "first.cu").returncode == 0
    read = run("nvcc", *options, "kernel.cu").stderr
    assert any(line.startswith("! ") and line.endswith("cuda_prelude.h.gch") for line in read.splitlines()), read


HOST_CODE = """
#include <cstdio>
#define FAST inline
FAST int once(int x) { return x; }
template <class F> __global__ void apply(F f, int* p, int n) {
  const int i = threadIdx.x;
  if (i <= n) p[i] = f(i);
}
template <class F> void start(F f, int* p) { apply<<<1, 64>>>(f, p, 32); cudaDeviceSynchronize(); }
void by_function(int* p) { start([=] __device__(int i) { return 3 * i; }, p); }
template <class T> void specialized(T*);
template <> void specialized<int>(int* p) { start([=] __device__(int i) { return 5 * i; }, p); }
int main(int argc, char* argv[]) {
  int* p;
  cudaMallocManaged(&p, 32 * sizeof(int));
  if (argc == 1) by_function(p);
  if (argc == 2) specialized(p);
  if (argc == 3) start([=] __device__(int i) { return 7 * i; }, p);
  printf("%d\\n", once(p[3]));
  cudaFree(p);
}
"""


def test_kernels_are_checked_wherever_host_code_makes_them(run: Run, tmp_path: Path) -> None:
    (tmp_path / "host_code.cu").write_text(HOST_CODE)
    made = run("nvcc", "-std=c++17", "--extended-lambda", "host_code.cu", "-o", "host_code")
    assert made.returncode == 0, made.stderr
    for more in range(3):
        done = run("./host_code", *["more"] * more)
        assert "write of 4 bytes out of bounds" in done.stderr
        assert "host_code.cu:7" in done.stderr
        assert (done.stdout, done.returncode) == (f"{9 + 6 * more}\n", 86)


def test_a_shared_library_is_one(run: Run) -> None:
    made = run("nvcc", "-shared", "-Xcompiler", "-fPIC", "kernel.cu", "square.cu", "-o", "libkernels.so")
    assert made.returncode == 0, made.stderr
    assert run("nvcc", "main.cu", "-L.", "-lkernels", "-Xlinker", "-rpath=.", "-o", "app").returncode == 0
    assert run("./app").stdout == "3969\n"


def test_a_source_that_does_not_compile_names_its_own_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "square.cu").write_text("__device__ int square(int x) {\n  return y;\n}\n")
    done = run("nvcc", "-c", "square.cu")
    assert done.returncode == 1
    assert f"{tmp_path}/square.cu:2:10: error: 'y' was not declared" in done.stderr.replace("‘", "'").replace("’", "'")


def test_marks_below_a_line_point_at_what_its_author_wrote(run: Run, tmp_path: Path) -> None:
    lines = (
        "#define LAUNCH(...) \\",
        "\t\tk<<<1, 32>>>(__VA_ARGS__, absent_a)",
        "__global__ void k(int*, int) { __shared__ int tile[32];\tint y = absent_b; }",
        "int main() {",
        "\tk<<<1, 32>>>(nullptr, absent_c);\tk<<<1, 32>>>(0, absent_d);",
        "\tLAUNCH(nullptr);",
        "\tk<<<1,",
        "\t\t32>>>(nullptr, absent_e);",
        "}",
    )
    (tmp_path / "marks.cu").write_text("\n".join(lines) + "\n")
    said = run("nvcc", "-c", "marks.cu").stderr.splitlines()
    marked = [
        text[below.index("^") :][:8]
        for heading, text, below in zip(said, said[1:], said[2:], strict=False)
        if "error: " in heading
    ]
    assert sorted(marked) == [f"absent_{letter}" for letter in "abcde"]


@pytest.mark.cases(1)
@pytest.mark.parametrize("form", ["ptx", "cubin", "fatbin"])
def test_images_are_texts_of_libraries_beside_their_sources(run: Run, tmp_path: Path, form: str) -> None:
    made = run("nvcc", f"--{form}", "-arch=sm_80", "square.cu")
    assert (made.returncode, made.stderr) == (0, "")
    mark, _, text = (tmp_path / f"square.{form}").read_text().partition("\n")
    library = base64.b64decode(text)
    assert mark == f"//opbridge-cuda-twin-image {len(library)}"
    assert library.startswith(b"\x7fELF")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-ltoir", "square.cu"), "has no code for a GPU to write"),
        (("-ptx", "square.cu", "main.cu", "-o", "x.ptx"), "-ptx with -o takes one source"),
        (("absent.cu",), "absent.cu: no such file"),
        ((), "no input files"),
        (("square.cu", "-lnccl"), "NCCL: not supported by the CUDA twin"),
    ],
)
def test_what_it_cannot_do_is_said(run: Run, words: tuple[str, ...], message: str) -> None:
    done = run("nvcc", *words)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_makefile_builds_unchanged(run: Run, tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(
        "CC = nvcc\nCFLAGS = -std=c++14 -Xcompiler -Wall -arch=sm_60 -O3\nobj = main.o kernel.o square.o\n"
        "app: $(obj)\n\t$(CC) $(CFLAGS) $(obj) -o $@\n%.o: %.cu\n\t$(CC) $(CFLAGS) -rdc=true -c $< -o $@\n"
    )
    made = run("make")
    assert made.returncode == 0, made.stderr
    assert run("./app").stdout == "3969\n"


@pytest.mark.matrix("test_a_makefile_builds_unchanged")
def test_a_cmake_project_builds_unchanged(run: Run, tmp_path: Path, home: Path) -> None:
    cmake = shutil.which("cmake")
    assert cmake, "the development dependencies have cmake"
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(app LANGUAGES CXX CUDA)\nfind_package(CUDAToolkit REQUIRED)\n"
        "add_library(kernels STATIC kernel.cu square.cu)\n"
        "set_target_properties(kernels PROPERTIES CUDA_SEPARABLE_COMPILATION ON)\n"
        "add_executable(app main.cu)\ntarget_link_libraries(app PRIVATE kernels CUDA::cudart)\n"
        "add_executable(mixed main.cu host.cpp)\ntarget_link_libraries(mixed PRIVATE kernels)\n"
    )
    (tmp_path / "host.cpp").write_text("#include <iostream>\nvoid host() { std::cout << 1; }\n")
    configured = run(cmake, "-B", "build", f"-DCMAKE_CUDA_COMPILER={home}/bin/nvcc")
    assert configured.returncode == 0, configured.stdout + configured.stderr
    assert f"Found CUDAToolkit: {home}/include" in configured.stdout
    built = run(cmake, "--build", "build")
    assert built.returncode == 0, built.stdout + built.stderr
    assert run("build/app").stdout == "3969\n"
    assert run("build/mixed").stdout == "3969\n", "which the host's compiler has linked"


ASKS_FOR_HEADERS = """
#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cufft.h>
#include <curand.h>
#include <cusolverDn.h>
#include <cusparse.h>
#if !(defined(__DRIVER_TYPES_H__) && defined(__CUDA_RUNTIME_H__) && defined(__CUDA_RUNTIME_API_H__))
#error which tells a helper's header that it may name errors
#endif
#if !(defined(CUBLAS_API_H_) && defined(_CUFFT_H_) && defined(CURAND_H_) && defined(CUSPARSEAPI))
#error and those of libraries
#endif
#ifndef CUSOLVER_COMMON_H_
#error the same
#endif
int main() { return cudaDeviceSynchronize() + sizeof(dim3) - 12; }
"""


def test_the_host_s_compiler_finds_its_headers_by_one_folder(run: Run, tmp_path: Path, home: Path) -> None:
    """As CMake has it compile a project's .cpp; helper_cuda.h, which many programs bring, asks for guards."""
    (tmp_path / "host.cpp").write_text(ASKS_FOR_HEADERS)
    made = run("g++", "host.cpp", "-I", f"{home}/include", "-L", f"{home}/lib64", "-lcudart", "-o", "host")
    assert made.returncode == 0, made.stderr
    assert run("./host").returncode == 0


def test_c_s_compiler_links_what_nvcc_compiled(run: Run, home: Path) -> None:
    """As Makefiles of programs in C do, whose kernels want nothing of C++."""
    for source in ("main.cu", "kernel.cu", "square.cu"):
        assert run("nvcc", "-dc", source).returncode == 0
    objects = ("main.o", "kernel.o", "square.o")
    made = run("gcc", *objects, "-L", f"{home}/lib64", "-lcuda", "-lcudart", "-lm", "-o", "app")
    assert made.returncode == 0, made.stderr
    assert run("./app").stdout == "3969\n"


def test_a_program_as_it_is_found(run: Run, tmp_path: Path) -> None:
    """A byte order mark, C++11, words that libraries have too, and functions that are younger than most tutorials."""
    (tmp_path / "found.cu").write_text(
        "\ufeff#include <cuComplex.h>\n#include <memory>\n#include <cstdio>\n#include <nvtx3/nvToolsExt.h>\n"
        "__device__ __noinline__ float part(cuFloatComplex z) { return cuCimagf(cuCmulf(z, z)); }\n"
        "__global__ void add(unsigned* sum, float* product) {\n"
        "  __nv_atomic_fetch_add(sum, threadIdx.x, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);\n"
        "  const bool both_count_ticks = clock64() - clock() < 1 << 30;\n"
        "  if (threadIdx.x == 0) *product = both_count_ticks ? part(make_cuFloatComplex(1, 3)) : 0;\n"
        "}\n"
        "int main() {\n"
        "  auto keeps = std::make_shared<int>(1);\n  unsigned* sum; float* product;\n"
        "  cudaMallocManaged(&sum, 4); cudaMallocManaged(&product, 4); *sum = *keeps;\n"
        "  const float* table; cudaMalloc(&table, 4); cudaFree((void*)table);\n"
        "  cudaMemLocation device = {cudaMemLocationTypeDevice, 0};\n"
        "  cudaMemAdvise(sum, 4, cudaMemAdviseSetPreferredLocation, device); cudaMemPrefetchAsync(sum, 4, device, 0);\n"
        '  nvtxRangePush("add"); nvtxRangePop();\n'
        "  add<<<1, 64>>>(sum, product); cudaDeviceSynchronize();\n"
        '  printf("%u %g\\n", *sum, *product); cudaFree(sum); cudaThreadExit();\n}\n'
    )
    made = run("nvcc", "-std=c++11", "found.cu", "-o", "found")
    assert made.returncode == 0, made.stderr
    done = run("./found")
    assert (done.stdout, done.stderr) == ("2017 6\n", "")


BLAS = """
#include <cstdio>
#include <cublas_v2.h>
typedef __nv_bfloat16 from_that_header;
int main(int argc, char**) {
  const int n = 4;
  float *a, *b;
  cudaMalloc(&a, n * n * sizeof(float));
  cudaMalloc(&b, n * sizeof(float));
  const float ones[n * n] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, factor = 3;
  cublasSetMatrix(n, n, sizeof(float), ones, n, a, n);
  cublasHandle_t handle;
  cublasCreate(&handle);
  const float zero = 0;
  // With an argument the result has too many rows.
  cublasStatus_t status = cublasSgemv(handle, CUBLAS_OP_N, n, n, &factor, a, n, a, 1, &zero, b, argc);
  float found[n] = {};
  cublasGetVector(n, sizeof(float), b, 1, found, 1);
  printf("%s %g %g\\n", cublasGetStatusName(status), found[0], found[3]);
  cublasDestroy(handle);
  cudaFree(a), cudaFree(b);
}
"""


def test_cublas_is_linked_by_its_name_and_its_arguments_are_checked(run: Run, tmp_path: Path) -> None:
    (tmp_path / "blas.cu").write_text(BLAS)
    made = run("nvcc", "blas.cu", "-lcublas", "-o", "blas")
    assert made.returncode == 0, made.stderr
    done = run("./blas")
    assert (done.stdout, done.stderr, done.returncode) == ("CUBLAS_STATUS_SUCCESS 12 12\n", "", 0)
    broken = run("./blas", "more")
    assert "cublasSgemv: write of 28 bytes beyond an allocation" in broken.stderr
    assert broken.stdout.startswith("CUBLAS_STATUS_EXECUTION_FAILED")


@pytest.mark.cases(1)
@pytest.mark.parametrize("checks", ["0", "1"])
def test_each_source_has_device_functions_of_its_own(run: Run, tmp_path: Path, checks: str) -> None:
    """Unless device code is linked: of two inline functions of one name a linker for the host keeps the first."""
    kernel = """
    struct Point { MEMBERS; __device__ int value() const { return x; } };
    __global__ void NAME_kernel(int* out) { out[0] = Point{5, 11}.value(); }
    void NAME(int* out) { NAME_kernel<<<1, 1>>>(out); }
    """
    main = """
    #include <cstdio>
    void one(int* out);
    void other(int* out);
    int main() {
      int* out;
      cudaMallocManaged(&out, 8);
      one(out), other(out + 1), cudaDeviceSynchronize();
      printf("%d %d\\n", out[0], out[1]);
      cudaFree(out);
    }
    """
    for name, members in {"one": "int x, y", "other": "int y, x"}.items():
        (tmp_path / f"{name}.cu").write_text(kernel.replace("NAME", name).replace("MEMBERS", members))
    (tmp_path / "points.cu").write_text(main)
    words = ("-O0", "points.cu", "one.cu", "other.cu", "-o", "points")
    made = run("env", f"OPBRIDGE_TWIN_CHECKS={checks}", "nvcc", *words)
    assert made.returncode == 0, made.stderr
    assert run("./points").stdout == "5 11\n"


def test_a_source_that_is_compiled_twice_has_device_code_for_each(run: Run, tmp_path: Path) -> None:
    (tmp_path / "twice.cu").write_text(
        "struct Number { __device__ int value() const { return WHICH; } };\n"
        "__constant__ int factor = 1;\n__device__ int more;\n"
        "__global__ static void kernel(int* out) { *out = factor * Number().value() + more++; }\n"
        "void NAME(int* out) {\n  const int ten = 10;\n  cudaMemcpyToSymbol(factor, &ten, sizeof ten);\n"
        "  kernel<<<1, 1>>>(out);\n  cudaDeviceSynchronize();\n}\n"
        "#if WHICH == 1\n#include <cstdio>\nvoid two(int* out);\n"
        "int main() {\n"
        "  int* out;\n  cudaMallocManaged(&out, 8);\n  one(out), two(out + 1), cudaDeviceSynchronize();\n"
        '  printf("%d %d\\n", out[0], out[1]);\n  cudaFree(out);\n}\n#endif\n'
    )
    for number, name in ((1, "one"), (2, "two")):
        made = run("nvcc", "-O0", f"-DWHICH={number}", f"-DNAME={name}", "-c", "twice.cu", "-o", f"{name}.o")
        assert made.returncode == 0, made.stderr
    made = run("nvcc", "one.o", "two.o", "-o", "twice")
    assert made.returncode == 0, made.stderr
    assert run("./twice").stdout == "10 20\n"


def test_the_version_is_the_headers(run: Run) -> None:
    assert f"release {twin_nvcc.RELEASE}, V{twin_nvcc.RELEASE}.0" in run("nvcc", "--version").stdout


def test_dryrun_shows_the_commands_and_runs_none(run: Run, tmp_path: Path) -> None:
    shown = run("nvcc", "-dryrun", "square.cu", "-c")
    assert "-x c++ -include cuda_runtime.h" in shown.stderr
    assert not (tmp_path / "square.o").exists()
    commands = [line for line in shown.stderr.splitlines() if "square.cu" in line]
    assert [command.count("#$") for command in commands] == [1, 1], "each on a line of its own, though both at a time"


def test_a_class_may_give_a_name_another_meaning_as_nvcc_lets_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "names.cu").write_text(
        "template <class T> struct Config { T value; };\n"
        "template <class T> struct Solver { using Config = Config<T>; Config config; };\n"
        "int f(Solver<int> s) { return s.config.value; }\n"
    )
    made = run("nvcc", "-c", "names.cu")
    assert made.returncode == 0, made.stderr


def test_kernels_of_headers_that_a_build_calls_the_system_s_are_compiled(run: Run, tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    kernel = "__global__ void set(int* x) { __shared__ int s; s = 7; __syncthreads(); *x = s; }\n"
    (tmp_path / "library" / "set.cuh").write_text(f"{kernel}inline void start(int* x) {{ set<<<1, 1>>>(x); }}\n")
    (tmp_path / "main.cu").write_text(
        "#include <cstdio>\n#include <set.cuh>\n"
        "int main() {\n  int* x;\n  cudaMallocManaged(&x, sizeof(int));\n  start(x);\n"
        '  printf("%d\\n", *x);\n  cudaFree(x);\n}\n'
    )
    made = run("nvcc", "-isystem", "library", "main.cu", "-o", "main")
    assert made.returncode == 0, made.stderr
    assert run("./main").stdout == "7\n"


def test_names_that_cutlass_wants_are_there_and_do_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "names.cu").write_text(
        "#include <cstdio>\n#include <cudaTypedefs.h>\n#include <mma.h>\n"
        "using Bits = nvcuda::wmma::experimental::precision::b1;\n"
        "int main() {\n"
        "  static_assert(sizeof(CUtensorMap) == 128 && alignof(CUtensorMap) == 64);\n"
        "  static_assert(CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 == 11 && CU_TENSOR_MAP_SWIZZLE_128B == 3);\n"
        "  void* function = &function;\n  cudaDriverEntryPointQueryResult found;\n"
        '  const auto code = cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found);\n'
        '  printf("%d %d %p\\n", code, found, (void*)(PFN_cuTensorMapEncodeTiled)function);\n}\n'
    )
    made = run("nvcc", "-std=c++17", "names.cu", "-o", "names")
    assert made.returncode == 0, made.stderr
    assert run("./names").stdout == "0 1 (nil)\n"


def test_memory_is_set_by_elements_as_cutlass_does(run: Run, tmp_path: Path) -> None:
    (tmp_path / "set.cu").write_text(
        "#include <cstdio>\n#include <cuda.h>\n"
        "int main() {\n  unsigned* x;\n  cudaMallocManaged(&x, 16);\n  const auto at = (CUdeviceptr)x;\n"
        "  const int codes[] = {cuMemsetD32Async(at, 0x12345678, 2, nullptr), cuMemsetD16Async(at + 8, 0xabcd, 2, 0),\n"
        "                       cuMemsetD8Async(at + 12, 7, 4, 0)};\n  cudaDeviceSynchronize();\n"
        '  for (int code : codes) printf("%d ", code);\n'
        '  printf("%x %x %x %x\\n", x[0], x[1], x[2], x[3]);\n  cudaFree(x);\n}\n'
    )
    made = run("nvcc", "-std=c++17", "set.cu", "-o", "set")
    assert made.returncode == 0, made.stderr
    assert run("./set").stdout == "0 0 0 12345678 12345678 abcdabcd 7070707\n"


def test_a_shuffle_without_a_mask_is_refused_unless_it_is_the_programs_own(run: Run, tmp_path: Path) -> None:
    own = "__device__ float2 __shfl_down(const float2 v, const unsigned n) {\n"
    own += "  return {__shfl_down_sync(~0u, v.x, n), __shfl_down_sync(~0u, v.y, n)};\n}\n"
    kernel = "__global__ void k(float2* v) { v[threadIdx.x] = __shfl_down(v[threadIdx.x], 1); }\n"
    for name, text in (("own.cu", own + kernel), ("none.cu", kernel)):
        (tmp_path / name).write_text(text)
    made, refused = run("nvcc", "-c", "own.cu"), run("nvcc", "-c", "none.cu")
    assert made.returncode == 0, made.stderr
    assert refused.returncode == 1
    assert "__shfl_down_sync(mask, ...) takes their mask first" in refused.stderr
