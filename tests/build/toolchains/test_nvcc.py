from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from opbridge._core import load_kernel
from opbridge.base.errors import BuildError, ToolchainError
from opbridge.build.cache import Cache
from opbridge.build.toolchains import BuildRequest, Toolchain, build, nvcc
from opbridge.build.toolchains.interface import InstalledLibrary

MakeRequest = Callable[..., BuildRequest]

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on PATH")

KERNEL = """#include <cstdint>
__global__ void add_one(const float* x, float* out, int64_t n) {
  for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = x[i] + 1;
}
extern "C" int AddOne(int, void** params, int* ndims, int64_t** shapes, const char**, void* stream, void*) {
  int64_t n = 1;
  for (int i = 0; i < ndims[0]; ++i) n *= shapes[0][i];
  add_one<<<64, 256, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<float*>(params[0]), static_cast<float*>(params[1]), n);
  return cudaGetLastError();
}
"""


def install(folder: Path, name: str, script: str = "") -> str:
    """An executable that does what the script says."""
    folder.mkdir(exist_ok=True, parents=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return str(folder / name)


@pytest.fixture(autouse=True)
def no_choice_of_architectures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(nvcc.ARCHITECTURES, raising=False)
    monkeypatch.delenv("TORCH_CUDA_ARCH_LIST", raising=False)


@pytest.fixture
def cuda(request_for: MakeRequest) -> MakeRequest:
    def make(text: str, **fields: object) -> BuildRequest:
        return request_for(text, name="kernel.cu", language="cuda", **fields)

    return make


def test_the_module_is_a_toolchain() -> None:
    toolchain: Toolchain = nvcc
    assert toolchain.suffixes[0] == ".cu"


class TestFind:
    @pytest.fixture
    def path(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """The only folder on PATH, with a host compiler alone."""
        folder = tmp_path / "bin"
        folder.mkdir()
        install(folder, "g++")
        monkeypatch.setenv("PATH", str(folder))
        for variable in ("CUDA_HOME", "CUDA_PATH"):
            monkeypatch.delenv(variable, raising=False)
        return folder

    def test_on_path_with_the_host_compiler(self, path: Path) -> None:
        installed = install(path, "nvcc")
        assert nvcc.find() == (installed, "-ccbin", str(path / "g++"))

    def test_in_cuda_home(self, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        installed = install(tmp_path / "toolkit" / "bin", "nvcc")
        monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
        assert nvcc.find()[0] == installed

    def test_in_a_wheel(self, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for toolkit in ("cu12", "cu13"):
            newest = install(tmp_path / "nvidia" / toolkit / "bin", "nvcc")
        (tmp_path / "nvidia" / "__init__.py").touch()  # as some of these packages have, which come before others
        # A machine without CUDA in its usual place.
        monkeypatch.setattr(nvcc, "_DEFAULT_HOME", str(path))
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "nvidia", raising=False)
        assert nvcc.find()[0] == newest

    def test_none_at_all_says_how_to_get_one(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        # A machine without CUDA in its usual place.
        monkeypatch.setattr(nvcc, "_DEFAULT_HOME", str(path))
        # An environment without the wheels of nvcc.
        monkeypatch.setattr(nvcc, "_wheels", list)
        with pytest.raises(ToolchainError, match="expected nvcc on PATH, or CUDA_HOME"):
            nvcc.find()


class TestArchitectures:
    """Of a compiler that knows some, and a machine with some GPUs or none."""

    @pytest.fixture(autouse=True)
    def machine(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
        folder = tmp_path / "bin"
        known = "compute_80 compute_90 compute_100 compute_103"
        install(folder, "nvcc", f"printf '%s\\n' {known}")
        install(folder, "g++")
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        monkeypatch.setenv("OPBRIDGE_CACHE_DIR", str(tmp_path / "cache"))
        nvcc._gpus.cache_clear()
        yield folder
        nvcc._gpus.cache_clear()

    @staticmethod
    def chosen(cuda: MakeRequest, **fields: object) -> list[str]:
        """What the compiler is told of architectures."""
        argv = nvcc.commands(cuda("", **fields), Path("/build")).compiles[0].argv
        return [word.removeprefix("-gencode=arch=") for word in argv if word.startswith(("-arch", "-gencode"))]

    def test_the_users_come_first_and_the_newest_also_as_ptx(
        self, machine: Path, cuda: MakeRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        install(machine, "nvidia-smi", "echo 8.0")
        monkeypatch.setenv(nvcc.ARCHITECTURES, "100; 8.0,sm_90")
        assert self.chosen(cuda, portable=True) == [
            "compute_80,code=[sm_80]",
            "compute_90,code=[sm_90]",
            "compute_100,code=[sm_100,compute_100]",
        ]

    def test_one_with_features_of_its_own_is_no_base_for_later_ones(
        self, cuda: MakeRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(nvcc.ARCHITECTURES, "90a;80")
        assert self.chosen(cuda) == ["compute_80,code=[sm_80,compute_80]", "compute_90a,code=[sm_90a]"]

    def test_pytorchs_count_for_its_extensions(
        self, machine: Path, cuda: MakeRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "8.0 9.0a+PTX")
        extension = {"library": InstalledLibrary(machine, ("torch",))}
        assert self.chosen(cuda, **extension) == ["compute_80,code=[sm_80,compute_80]", "compute_90a,code=[sm_90a]"]
        assert self.chosen(cuda) == ["-arch=all-major"]
        monkeypatch.setenv(nvcc.ARCHITECTURES, "100")
        assert self.chosen(cuda, **extension) == ["compute_100,code=[sm_100,compute_100]"]
        monkeypatch.delenv(nvcc.ARCHITECTURES)
        monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "8.0 Hopper+PTX")
        assert self.chosen(cuda, **extension) == ["compute_80,code=[sm_80]", "compute_90,code=[sm_90,compute_90]"]
        monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "Hoper")
        with pytest.raises(ToolchainError, match="TORCH_CUDA_ARCH_LIST names 'Hoper'"):
            self.chosen(cuda, **extension)

    @pytest.mark.parametrize("named", ["70", "80;sm_7x", "native", "90af"])
    def test_a_name_that_nvcc_does_not_know_is_refused(
        self, cuda: MakeRequest, monkeypatch: pytest.MonkeyPatch, named: str
    ) -> None:
        monkeypatch.setenv(nvcc.ARCHITECTURES, named)
        with pytest.raises(ToolchainError) as failure:
            self.chosen(cuda)
        assert f"{nvcc.ARCHITECTURES} names {named.split(';')[-1]!r}" in str(failure.value)
        assert "it knows 80, 90, 100, 103" in str(failure.value)

    @pytest.mark.parametrize("flags", [("-arch=sm_90",), ("-gencode", "arch=compute_90,code=sm_90")])
    def test_flags_of_the_request_win(
        self, cuda: MakeRequest, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
    ) -> None:
        monkeypatch.setenv(nvcc.ARCHITECTURES, "80")
        assert self.chosen(cuda, flags=flags) == [flags[0]]

    @pytest.mark.parametrize(
        ("gpus", "chosen"),
        [
            ("9.0\n9.0\n8.0", ["compute_80,code=[sm_80]", "compute_90,code=[sm_90,compute_90]"]),
            ("12.1", ["compute_103,code=[sm_103,compute_103]"]),  # newer than nvcc: translated from its newest
            ("6.1", ["-arch=all-major"]),
            ("No devices were found", ["-arch=all-major"]),
        ],
    )
    def test_else_those_of_the_gpus_at_hand(
        self, machine: Path, cuda: MakeRequest, gpus: str, chosen: list[str]
    ) -> None:
        install(machine, "nvidia-smi", f"echo '{gpus}'")
        assert self.chosen(cuda) == chosen

    def test_a_portable_library_has_all_major_ones(self, machine: Path, cuda: MakeRequest) -> None:
        install(machine, "nvidia-smi", "echo 9.0")
        assert self.chosen(cuda, portable=True) == ["-arch=all-major"]

    def test_a_machine_that_cannot_tell_has_all_major_ones(self, machine: Path, cuda: MakeRequest) -> None:
        install(machine, "nvidia-smi", "exit 9")
        assert self.chosen(cuda) == ["-arch=all-major"]


@needs_nvcc
def test_the_host_compilers_flags_are_handed_on(cuda: MakeRequest) -> None:
    request = cuda("", flags=("-fmine", "-isystem", "/x"), link_flags=("-L/y", "-Wl,-rpath,/y"))
    commands = nvcc.commands(request, Path("/build"))
    assert " -Xcompiler -fmine -isystem /x " in " ".join(commands.compiles[0].argv)
    assert commands.link.argv[-5:] == ("-L/y", "-Xlinker", "-rpath", "-Xlinker", "/y")


@needs_nvcc
class TestBuild:
    @pytest.fixture(autouse=True)
    def quickly(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(nvcc.ARCHITECTURES, "80")

    def test_a_plain_source_becomes_an_aot_function(
        self, cache: Cache, cuda: MakeRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv(nvcc.ARCHITECTURES)
        first = build(cuda(KERNEL), cache)
        assert load_kernel(str(first.path), "AddOne").describe() == "a bare aot function"
        assert build(cuda(KERNEL), cache).cached

    def test_other_architectures_are_another_build(
        self, cache: Cache, cuda: MakeRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = build(cuda(KERNEL), cache)
        monkeypatch.setenv(nvcc.ARCHITECTURES, "80;90")
        second = build(cuda(KERNEL), cache)
        assert not second.cached
        assert second.path.stat().st_size > first.path.stat().st_size

    def test_host_functions_and_lambdas_that_serve_both_sides_compile(self, cache: Cache, cuda: MakeRequest) -> None:
        source = """#include <algorithm>
        template <class F> __global__ void each(F f) { f(std::max(blockIdx.x, 1u)); }
        extern "C" void run(int* x) { each<<<1, 1>>>([=] __host__ __device__(int i) { x[i] = i; }); }
        """
        assert build(cuda(source, flags=("-arch=sm_90",)), cache).log == ""

    def test_a_mistake_is_told_with_its_line(self, cache: Cache, cuda: MakeRequest, project: Path) -> None:
        with pytest.raises(BuildError) as failure:
            build(cuda("__global__ void k(float* x) {\n  y[0] = 1;\n}\n"), cache)
        lines = str(failure.value).splitlines()
        assert lines[0] == f'{project}/kernel.cu:2: error: identifier "y" is undefined'
        assert lines[1].endswith("|   y[0] = 1;")

    @pytest.mark.cases(1)
    @pytest.mark.parametrize("name", ["it's, (1) & 2", "w 2", "a,b"])
    def test_folders_with_characters_that_a_shell_or_nvcc_would_take(
        self, cache: Cache, project: Path, tmp_path: Path, name: str
    ) -> None:
        folder = project.rename(tmp_path / name)
        source = folder / "kernel.cu"
        source.write_text('extern "C" const char* told() { return __FILE__; }\n')
        built = build(BuildRequest((source,), "kernel.so", language="cuda"), cache)
        assert b"\0kernel.cu\0" in built.path.read_bytes()

    def test_what_pytorch_without_cuda_lacks_is_one_sentence(self, cache: Cache, cuda: MakeRequest) -> None:
        with pytest.raises(BuildError) as failure:
            build(cuda("#include <c10/cuda/CUDAStream.h>\n"), cache)
        text = str(failure.value)
        assert "kernel.cu:1" in text
        assert "a PyTorch built with CUDA" in text
        assert len(text.splitlines()) < 8
