"""A source and its headers, rewritten side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from opbridge.twins.cuda import Translation, translate

KERNEL = "__global__ void k() {}\n"


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def translated(tmp_path: Path, files: dict[str, str], *include_dirs: str) -> Translation:
    write(tmp_path / "project", files)
    project = tmp_path / "project"
    return translate(project / "k.cu", tmp_path / "out", [project / folder for folder in include_dirs])


def included(text: str) -> list[str]:
    return [line.split()[1].strip('"<>') for line in text.splitlines() if line.startswith("#include")]


def test_the_compiler_is_told_where_each_line_is_from(tmp_path: Path) -> None:
    result = translated(tmp_path, {"k.cu": KERNEL})
    assert result.source.read_text().splitlines()[0] == f'#line 1 "{tmp_path}/project/k.cu"'
    assert result.read == (tmp_path / "project" / "k.cu",)


def test_headers_with_cuda_in_them_are_rewritten_too(tmp_path: Path) -> None:
    files = {
        "k.cu": '#include "a/one.cuh"\n#include <two.cuh>\n' + KERNEL,
        "a/one.cuh": '#include "beside.cuh"\n',
        "a/beside.cuh": KERNEL,
        "include/two.cuh": "__device__ int f();\n",
    }
    result = translated(tmp_path, files, "include")
    one, two = (Path(name) for name in included(result.source.read_text()))
    (beside,) = (Path(name) for name in included(one.read_text()))
    assert "opbridge_twin::launch" in beside.read_text()
    assert {path.parent for path in (one, two, beside)} == {tmp_path / "out"}
    project = tmp_path / "project"
    assert set(result.read) == {project / name for name in files}


def test_cutlass_is_taken_from_a_folder_that_has_it(tmp_path: Path) -> None:
    names = ("cutlass/plain.h", "cute/device.hpp")
    files = {"k.cu": "".join(f"#include <{name}>\n" for name in names), "include/cutlass/plain.h": "int f();\n"}
    result = translated(tmp_path, {**files, "include/cute/device.hpp": KERNEL}, "include")
    plain, device = included(result.source.read_text())
    assert (plain, Path(device).parent) == ("cutlass/plain.h", tmp_path / "out")


def test_cutlass_of_one_architecture_is_read_as_device_code_is(tmp_path: Path) -> None:
    text = '#if __CUDA_ARCH__ >= 800\n__host__ __device__ void f() { asm("movmatrix;"); }\n#endif\n'
    names = ("cute/arch/mma.hpp", "cute/mma.hpp")
    files = {f"include/{name}": text for name in names}
    result = translated(tmp_path, {"k.cu": "".join(f"#include <{name}>\n" for name in names), **files}, "include")
    of_devices, other = (Path(name).read_text() for name in included(result.source.read_text()))
    assert "#if 800 >= 800" in of_devices
    assert "GCC error" not in of_devices
    assert "#if __CUDA_ARCH__ >= 800" in other
    assert "`movmatrix` of inline PTX assembly" in other


def test_other_headers_stay_where_they_are(tmp_path: Path) -> None:
    files = {"k.cu": '#include "plain.h"\n#include <vector>\n#include "nowhere.h"\n', "plain.h": "int f();\n"}
    result = translated(tmp_path, files)
    assert included(result.source.read_text()) == [str(tmp_path / "project" / "plain.h"), "vector", "nowhere.h"]


def test_a_folder_that_is_named_from_where_one_is_holds_headers_for_the_compiler_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"src/k.cu": '#include "plain.h"\n' + KERNEL, "include/plain.h": "int f();\n"})
    monkeypatch.chdir(tmp_path)
    result = translate(tmp_path / "src" / "k.cu", tmp_path / "out", [Path("include")])
    assert included(result.source.read_text()) == [str(tmp_path / "include" / "plain.h")]


def test_a_header_is_rewritten_once_and_may_include_itself(tmp_path: Path) -> None:
    files = {"k.cu": '#include "a.cuh"\n#include "./a.cuh"\n', "a.cuh": '#pragma once\n#include "a.cuh"\n' + KERNEL}
    first, second = included(translated(tmp_path, files).source.read_text())
    assert first == second


def test_shared_memory_of_a_header_is_known_in_the_source(tmp_path: Path) -> None:
    files = {
        "k.cu": '#include "a.cuh"\n__device__ int f() { return memory[0]; }\n',
        "a.cuh": "extern __shared__ int memory[];\n",
    }
    assert "auto* const memory" in translated(tmp_path, files).source.read_text()


AOT_PARAMETERS = (
    "int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra"
)


@pytest.mark.parametrize(
    "definition",
    [
        f'extern "C" int add({AOT_PARAMETERS}) {{ return 0; }}',
        f'extern "C" __attribute__((visibility("default"))) int add({AOT_PARAMETERS})\n{{ return 0; }}',
        f'extern "C" {{\nint helper();\nint add({AOT_PARAMETERS}) {{ return 0; }}\n}}',
        'extern "C" int add(int, void**, int*, std::int64_t**, const char** names, void*, void*) { return 0; }',
        'extern "C" int add(int n, void* const* p, const int* d, int64_t* const* s, const char** t, void*, void*) {}',
    ],
)
def test_what_hosts_call_gets_a_way_in_that_lends_it_their_tensors(tmp_path: Path, definition: str) -> None:
    (tmp_path / "k.cu").write_text(definition)
    code = translate(tmp_path / "k.cu", tmp_path / "out").source.read_text()
    assert code.startswith("#define add opbridge_twin_runs_add\n#line 1 ")
    assert code.endswith("\n#undef add\nOPBRIDGE_TWIN_AOT(add, opbridge_twin_runs_add)\n")


@pytest.mark.parametrize(
    "definition",
    [
        f"int add({AOT_PARAMETERS}) {{ return 0; }}",
        f'extern "C" int add({AOT_PARAMETERS});',
        'extern "C" int add(int nparam, void **params) { return 0; }',
        f'extern "C" {{\n}}\nint add({AOT_PARAMETERS}) {{ return 0; }}',
    ],
)
def test_other_functions_stay_what_they_are(tmp_path: Path, definition: str) -> None:
    (tmp_path / "k.cu").write_text(definition)
    assert "OPBRIDGE_TWIN_AOT" not in translate(tmp_path / "k.cu", tmp_path / "out").source.read_text()
