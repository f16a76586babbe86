from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.helpers.compilers import needs_clang

from opbridge._core import load_kernel
from opbridge.base.errors import BuildError, ToolchainError
from opbridge.build.cache import Cache
from opbridge.build.toolchains import BuildRequest, Toolchain, build, host, machine_identity

MakeRequest = Callable[..., BuildRequest]


def is_clang() -> bool:
    return "clang" in Path(host.find()[0]).name


def test_the_module_is_a_toolchain() -> None:
    toolchain: Toolchain = host
    assert toolchain.name == "host C++"


class TestFind:
    @pytest.fixture
    def path(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """The only folder on PATH, still empty."""
        folder = tmp_path / "bin"
        folder.mkdir()
        monkeypatch.setenv("PATH", str(folder))
        return folder

    @staticmethod
    def install(folder: Path, name: str) -> str:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
        return str(folder / name)

    def test_prefers_gcc(self, path: Path) -> None:
        clang, gcc = self.install(path, "clang++"), self.install(path, "g++")
        assert host.find() == (gcc,)
        Path(gcc).unlink()
        assert host.find() == (clang,)

    def test_cxx_may_hold_arguments(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        wrapper = self.install(path, "ccache")
        monkeypatch.setenv("CXX", "ccache g++ -m64")
        assert host.find() == (wrapper, "g++", "-m64")

    @pytest.mark.parametrize(("real", "found"), [("g++-12", "g++"), ("ccache", "c++")])
    def test_a_link_to_the_compiler_is_the_compiler(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, real: str, found: str
    ) -> None:
        """CMake says c++ to what it runs; what g++ has built is not built again for it."""
        self.install(path, real)
        for name in ("g++", "c++"):
            (path / name).symlink_to(real)
        monkeypatch.setenv("CXX", "c++ -m64")
        assert host.find() == (str(path / found), "-m64")

    def test_cxx_that_is_not_there(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.install(path, "g++")
        monkeypatch.setenv("CXX", "icpc")
        with pytest.raises(ToolchainError, match="CXX names the compiler 'icpc', which is not on PATH"):
            host.find()

    def test_none_at_all_says_how_to_get_one(self, path: Path) -> None:
        with pytest.raises(ToolchainError, match="sudo apt install g"):
            host.find()

    def test_one_that_does_not_work(
        self, path: Path, cache: Cache, request_for: MakeRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        broken = path / "g++"
        broken.write_text("#!/bin/sh\necho no licence >&2\nexit 3\n")
        broken.chmod(0o755)
        with pytest.raises(ToolchainError, match=r"(?s)does not work: .*g\+\+ -v exits with 3.*no licence"):
            build(request_for(""), cache)

    def test_one_that_cannot_be_run(self, path: Path, cache: Cache, request_for: MakeRequest) -> None:
        broken = path / "g++"
        broken.write_text("#!/no/such/shell\n")
        broken.chmod(0o755)
        with pytest.raises(ToolchainError, match=r"g\+\+ cannot be run: No such file"):
            build(request_for(""), cache)


@pytest.mark.optimized
class TestFlags:
    @staticmethod
    def argv(request: BuildRequest) -> list[str]:
        return list(host.commands(request, Path("/build")).compiles[0].argv)

    def test_for_this_processor_unless_portable(self, request_for: MakeRequest) -> None:
        request = request_for("")
        assert any(flag.endswith("=native") for flag in self.argv(request))
        assert not any(flag.endswith("=native") for flag in self.argv(replace(request, portable=True)))

    def test_for_the_processor_that_is_named(
        self, cache: Cache, request_for: MakeRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        request = request_for("")
        ours = host.identity(request, cache)
        monkeypatch.setenv("OPBRIDGE_MARCH", "some-cpu")
        assert any(flag.endswith("=some-cpu") for flag in self.argv(request))
        assert machine_identity.processor() in ours
        assert machine_identity.processor() not in host.identity(request, cache), (
            "what it makes is the same on every machine"
        )

    def test_an_environment_made_for_packaging_slows_nothing_down(
        self, request_for: MakeRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CXXFLAGS", "-O2 -DEXTRA='a b'")
        argv = self.argv(request_for(""))
        assert argv.index("-O2") < argv.index("-O3")
        assert "-DEXTRA=a b" in argv

    def test_a_level_that_another_replaces_is_in_no_command(
        self, request_for: MakeRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """So that what asks for a level is built once, whatever OPBRIDGE_OPTIMIZE says."""
        request = request_for("", flags=("-O3", "-Ofast", "-O1"))
        assert [word for word in self.argv(request) if word.startswith("-O")] == ["-O1"]
        monkeypatch.setenv("OPBRIDGE_OPTIMIZE", "2")
        assert [word for word in self.argv(request) if word.startswith("-O")] == ["-O1"]

    def test_a_branch_that_multiplies_is_vector_code_on_every_processor(
        self, cache: Cache, request_for: MakeRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if os.uname().machine == "x86_64":
            # AVX-512 can mask a product by its lanes; AVX2 has to be free to compute it in all of them.
            monkeypatch.setenv("OPBRIDGE_MARCH", "x86-64-v3")
        report = "-Rpass=loop-vectorize" if is_clang() else "-fopt-info-vec"
        text = """extern "C" void leaky(const float* __restrict x, float* __restrict out, long n, float slope) {
          for (long i = 0; i < n; ++i) out[i] = x[i] > 0 ? x[i] : x[i] * slope;
        }"""
        assert "vectorized" in build(request_for(text, flags=(report,)), cache).log

    @pytest.mark.skipif(os.uname().machine != "x86_64", reason="registers of AVX-512")
    def test_loops_take_the_widest_registers(
        self, cache: Cache, request_for: MakeRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPBRIDGE_MARCH", "sapphirerapids")
        text = """extern "C" void add(const float* __restrict x, float* __restrict out, long n) {
          for (long i = 0; i < n; ++i) out[i] = x[i] + x[i];
        }"""
        commands = host.commands(request_for(text), Path("/build")).compiles[0].argv
        source = commands[commands.index("-c") + 1]
        flags = commands[: commands.index("-c")]
        assert "%zmm" in subprocess.run([*flags, "-S", source, "-o", "-"], capture_output=True, text=True).stdout

    def test_values_stay_what_the_standard_says(self, cache: Cache, request_for: MakeRequest) -> None:
        text = """extern "C" double kept(double zero, double tiny, double big) {
          const double nan = zero / zero, sum = (big + tiny) - big;
          return (nan != nan) + 10 * (1 / -zero < 0) + 100 * (big * big > big) + 1000 * (sum == 0) + 10000 * (tiny > 0);
        }"""
        function = ctypes.CDLL(str(build(request_for(text), cache).path)).kept
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * 3
        assert function(0.0, 5e-324, 1e300) == 11111

    def test_ldflags(self, request_for: MakeRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("LDFLAGS", "-L/somewhere")
        assert "-L/somewhere" in host.commands(request_for(""), Path("/build")).link.argv

    def test_defines(self, cache: Cache, request_for: MakeRequest) -> None:
        text = 'extern "C" const char* text() { return TEXT; }\n#ifndef BARE\n#error\n#endif'
        library = build(request_for(text, defines=(("TEXT", '"it\'s $1 \\\\ here"'), ("BARE", ""))), cache)
        function = ctypes.CDLL(str(library.path)).text
        function.restype = ctypes.c_char_p
        assert function() == b"it's $1 \\ here"

    def test_relative_flags_start_at_the_project(self, cache: Cache, project: Path, request_for: MakeRequest) -> None:
        (project / "include").mkdir()
        (project / "include" / "number.h").write_text("#define NUMBER 7")
        text = '#include <number.h>\nextern "C" int answer() { return NUMBER; }'
        library = build(request_for(text, flags=("-Iinclude",)), cache)
        assert ctypes.CDLL(str(library.path)).answer() == 7

    def test_a_symbol_that_is_provided_at_load_time_can_be_allowed(
        self, cache: Cache, request_for: MakeRequest
    ) -> None:
        request = request_for('extern "C" int later(); extern "C" int answer() { return later(); }')
        with pytest.raises(BuildError, match="undefined symbol: later"):
            build(request, cache)
        build(replace(request, link_flags=("-Wl,-z,undefs",)), cache)


class TestSymbols:
    # A pool of its own, for the real one is this process's and no int.
    KERNEL = """
    #include <vector>
    namespace ob { inline namespace pool_test { __attribute__((visibility("default"))) inline int pool; } }
    namespace mine { inline int calls; }
    template <class T> int times() { static int n; return ++n; }
    int helper() { return %d; }
    extern "C" int hundreds_of_own_tens_of_own_units_of_shared() {
      return helper() * 1000 + times<int>() * 100 + ++mine::calls * 10 + ++ob::pool;
    }
    """

    def test_two_kernels_share_the_pool_and_nothing_else(self, cache: Cache, request_for: MakeRequest) -> None:
        one, other = (
            ctypes.CDLL(
                str(build(request_for(self.KERNEL % i, f"k{i}.cpp"), cache).path), mode=ctypes.RTLD_GLOBAL
            ).hundreds_of_own_tens_of_own_units_of_shared
            for i in (1, 2)
        )
        assert (one(), other(), one()) == (1111, 2112, 1223)

    def test_c_functions_of_any_source_are_visible(self, cache: Cache, request_for: MakeRequest) -> None:
        library = build(request_for('extern "C" int CustomAdd(int, void**) { return 5; }'), cache)
        assert ctypes.CDLL(str(library.path)).CustomAdd() == 5


@needs_clang
def test_clang_builds_kernels_too(cache: Cache, request_for: MakeRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "clang++")
    kernel = """
    #include <opbridge/kernel.h>
    template <class T>
    void twice(ob::In<T> x, ob::Out<T> out) {
      ob::parallel_for(x.numel(), [=](int64_t i) { out[i] = x[i] + x[i]; });
    }
    OB_KERNEL(twice, float, ob::half)
    """
    library = build(request_for(kernel), cache)
    assert load_kernel(str(library.path), "twice").describe() == "(In<T>, Out<T>) for float32, float16"
