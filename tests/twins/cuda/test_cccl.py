"""Headers of CCCL are rewritten when a compiler needs them, and no source is compiled with one that is not."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from opbridge.base.remove_folder import remove_tree
from opbridge.build.cache import Cache
from opbridge.twins import cuda
from opbridge.twins.cuda import cccl, compiler_command, rewritten_headers
from opbridge.twins.cuda import nvcc as twin_nvcc

TURNED = """#pragma once
#include <cub/part.cuh>
template <class T>
__global__ void turned(const T* x, T* y) {
  __shared__ T tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = tile[last() - threadIdx.x];
}
"""
MAIN = """#include "mine.h"
int main() {
  int* x;
  cudaMallocManaged(&x, 128 * sizeof(int));
  for (int i = 0; i < 128; ++i) x[i] = i;
  turned<<<1, 64>>>(x, x + 64);
  return cudaDeviceSynchronize() + cudaFree(x);
}
"""
HEADERS = {
    "cub/turned.cuh": TURNED,
    "cub/part.cuh": '#pragma once\n#include "host.h"\ninline __device__ int last() { return size - 1; }\n',
    "cub/host.h": "#pragma once\nconstexpr int size = 64;\n",
    "cub/other.cuh": "__global__ void other() {}\n",
    "nv/target": "// tells host code from device code: __CUDA_ARCH__\n",
}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed headers, in place of the ones that this Python has."""
    headers = tmp_path / "installed"
    for name, text in HEADERS.items():
        (headers / name).parent.mkdir(parents=True, exist_ok=True)
        (headers / name).write_text(text)
    monkeypatch.setattr(cccl, "find", lambda: headers)
    rewritten_headers.of_cccl.cache_clear()
    yield headers
    for folder in folders():
        remove_tree(folder)
    rewritten_headers.of_cccl.cache_clear()


def folders() -> list[Path]:
    """The folder that the compiler is told to search before the installed headers."""
    return [Path(word.removeprefix("-isystem")) for word in rewritten_headers.of_cccl() if "/cccl_" in word]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A program that reaches a kernel of the installed headers through a header of its own only."""
    (tmp_path / "mine.h").write_text("#include <cub/turned.cuh>\n")
    (tmp_path / "main.cu").write_text(MAIN)
    return tmp_path / "main.cu"


def kinds(headers: Path, folder: Path) -> dict[str, str]:
    """What the compiler finds by each name before the installed header."""

    def kind(name: str) -> str:
        if not (folder / name).exists():
            return "nothing"
        return "stop" if cccl.is_stop(folder / name) else "copy"

    return {name: kind(name) for name in HEADERS}


def test_headers_that_another_may_include_are_rewritten_with_it(installed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copies"
    folder.mkdir()
    cccl.write_stops(installed, folder)
    stops = {"cub/turned.cuh": "stop", "cub/part.cuh": "stop", "cub/host.h": "stop", "cub/other.cuh": "stop"}
    assert kinds(installed, folder) == {**stops, "nv/target": "nothing"}
    said = f"In file included from a.cu:1:\n{folder}/cub/turned.cuh:1:2: error: #error {cccl.STOP}\n"
    assert cccl.stops_met(said, folder) == {"cub/turned.cuh"}
    assert cccl.stops_met(said.replace(cccl.STOP, "own"), folder) == set()
    cccl.rewrite_headers(["cub/turned.cuh"], installed, folder)
    # The compiler takes a header without device code, such as part.cuh, as it is installed.
    left = dict.fromkeys(HEADERS, "nothing")
    assert kinds(installed, folder) == {**left, "cub/turned.cuh": "copy", "cub/other.cuh": "stop"}


def test_a_header_reached_through_another_has_its_checks(
    installed: Path, source: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = source.with_name("main")
    assert twin_nvcc.run([str(source), "-o", str(program)], twin_nvcc.write(Cache().root / "cuda")) == 0
    assert cccl.STOP not in capfd.readouterr().err
    ran = subprocess.run([program], capture_output=True, text=True)
    assert f"{installed}/cub/turned.cuh:7" in ran.stderr
    assert "race" in ran.stderr


def test_an_operator_is_compiled_again_with_what_it_needs(
    installed: Path, source: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    made, depfile = tmp_path / "main.o", tmp_path / "main.o.d"
    flags = [*cuda.flags(checks=False), *rewritten_headers.of_cccl(), "-fpermissive", "-std=c++17"]
    command = ["g++", *flags, "-fmessage-length=20", "-o", str(made), "-MD", "-MF", str(depfile)]
    assert compiler_command.main([str(source), str(tmp_path / "rewritten"), str(depfile), "--", *command]) == 0
    assert capfd.readouterr().err == ""
    (folder,) = folders()
    assert f"{folder}/cub/turned.cuh" in depfile.read_text()
    assert made.stat().st_size > 0


def test_folders_of_versions_that_nobody_uses_are_removed(installed: Path) -> None:
    (used,) = folders()
    old, new = used.with_name("cccl_old"), used.with_name("cccl_new")
    old.mkdir(), new.mkdir()
    os.utime(old, (0, 0))
    remove_tree(used)
    rewritten_headers.of_cccl.cache_clear()
    assert (folders(), old.exists(), new.exists()) == ([used], False, True)
    new.rmdir()


def test_a_stop_that_comes_again_ends_the_compilation(installed: Path) -> None:
    (folder,) = folders()
    said, headers = f"{folder}/cub/other.cuh:1:2: error: #error {cccl.STOP}\n", rewritten_headers.Cccl()
    assert headers.has_more(said)
    assert not headers.has_more(said)
    assert not headers.has_more("main.cu:3: error: expected ';'\n")
