"""A library of several sources with a large library's headers: what an edit of one of them compiles."""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from opbridge.base.errors import BuildError
from opbridge.build.cache import Cache
from opbridge.build.toolchains import BuildRequest, build
from opbridge.build.toolchains.interface import InstalledLibrary
from opbridge.twins.cuda.toolchain import CHECKS

ONE = '#include "shared.h"\n#include <big.h>\nextern "C" int one() { return SHARED + big(); }\n'
TWO = '#include <big.h>\nint unused(int unused_argument);\nextern "C" int two() { return 2 * big(); }\n'


@pytest.fixture
def request_of_two(project: Path, tmp_path: Path) -> BuildRequest:
    installed = tmp_path / "installed"
    installed.mkdir()
    (installed / "big.h").write_text("#pragma once\ninline int big() { return 10; }\n")
    (project / "shared.h").write_text("#define SHARED 1\n")
    (project / "one.cpp").write_text(ONE)
    (project / "two.cpp").write_text(TWO)
    sources = (project / "one.cpp", project / "two.cpp")
    library = InstalledLibrary(installed, ("big", "1"))
    return BuildRequest(sources, "both.so", flags=("-isystem", str(installed)), library=library)


def answers(request: BuildRequest, cache: Cache) -> tuple[int, int]:
    library = ctypes.CDLL(str(build(request, cache).path))
    return library.one(), library.two()


def compiled(runs: list[str]) -> list[str]:
    return [word.rpartition("/")[2] for run in runs if " -c " in run for word in run.split() if word.endswith(".cpp")]


def test_an_edit_compiles_that_source_alone(
    cache: Cache, request_of_two: BuildRequest, wrapper: Callable[..., object], project: Path
) -> None:
    compiler = wrapper()
    assert answers(request_of_two, cache) == (11, 20)
    (project / "two.cpp").write_text(TWO.replace("2 *", "3 *"))
    assert answers(request_of_two, cache) == (11, 30)
    assert sorted(compiled(compiler.runs)) == ["one.cpp", "two.cpp", "two.cpp"]  # type: ignore[attr-defined]


def test_an_edited_header_compiles_those_that_read_it(
    cache: Cache, request_of_two: BuildRequest, wrapper: Callable[..., object], project: Path
) -> None:
    compiler = wrapper()
    assert answers(request_of_two, cache) == (11, 20)
    (project / "shared.h").write_text("#define SHARED 5\n")
    assert answers(request_of_two, cache) == (15, 20)
    assert sorted(compiled(compiler.runs)) == ["one.cpp", "one.cpp", "two.cpp"]  # type: ignore[attr-defined]


def test_a_header_that_comes_to_stand_in_front_is_noticed(
    cache: Cache, request_of_two: BuildRequest, project: Path
) -> None:
    (project / "first").mkdir()
    (project / "later").mkdir()
    (project / "shared.h").rename(project / "later" / "shared.h")
    request = replace(request_of_two, include_dirs=(project / "first", project / "later"))
    assert answers(request, cache) == (11, 20)
    (project / "first" / "shared.h").write_text("#define SHARED 7\n")
    assert answers(request, cache) == (17, 20)


def test_a_copy_elsewhere_is_not_tied_to_the_first(cache: Cache, request_of_two: BuildRequest, project: Path) -> None:
    assert answers(request_of_two, cache) == (11, 20)
    other = Path(shutil.copytree(project, project.with_name("other")))
    (other / "two.cpp").write_text(TWO.replace("2 *", "4 *"))
    copy = replace(request_of_two, sources=(other / "one.cpp", other / "two.cpp"))
    assert answers(copy, cache) == (11, 40)
    (other / "shared.h").write_text("#define SHARED 9\n")
    assert answers(copy, cache) == (19, 40)
    assert answers(request_of_two, cache) == (11, 20)


def test_what_was_said_of_it_is_said_again(cache: Cache, request_of_two: BuildRequest, project: Path) -> None:
    request = replace(request_of_two, flags=(*request_of_two.flags, "-Wundef", "-Wunused"))
    (project / "two.cpp").write_text(TWO + "static int idle() { return 0; }\n")
    assert "idle" in build(request, cache).log
    (project / "one.cpp").write_text(ONE + "// an edit\n")
    assert "idle" in build(request, cache).log


def test_a_mistake_is_told_and_forgotten(cache: Cache, request_of_two: BuildRequest, project: Path) -> None:
    (project / "two.cpp").write_text("int two() { return wrong; }\n")
    with pytest.raises(BuildError, match=r"wrong.*was not declared"):
        build(request_of_two, cache)
    (project / "two.cpp").write_text(TWO)
    assert answers(request_of_two, cache) == (11, 20)


def test_flags_of_single_sources_count(cache: Cache, request_of_two: BuildRequest, project: Path) -> None:
    (project / "two.cpp").write_text('extern "C" int two() { return TWO; }\n')
    for value in (3, 4):
        flags = ((project / "two.cpp", (f"-DTWO={value}",)),)
        assert answers(replace(request_of_two, source_flags=flags), cache) == (11, value)


def test_a_library_of_opbridge_is_compiled_once_for_all_runtimes(
    cache: Cache, request_of_two: BuildRequest, wrapper: Callable[..., object]
) -> None:
    compiler = wrapper()
    own = replace(request_of_two, built_for=(), library=None)
    for link_flags in ((), ("-Wl,-z,now",)):
        assert answers(replace(own, link_flags=link_flags), cache) == (11, 20)
    assert sorted(compiled(compiler.runs)) == ["one.cpp", "two.cpp"]  # type: ignore[attr-defined]


class TestOfTheCUDATwin:
    """Whose sources are compiled one by one too, and whose inline functions find the thread that runs in either."""

    # Not inlined, so that the linker keeps one of the two.
    HEADER = "#pragma once\ntemplate <class T> __device__ __noinline__ T thread() { return threadIdx.x + 1; }\n"
    SOURCE = """
    #include "thread.cuh"
    __global__ void NAME_kernel(int* out) { out[threadIdx.x] = FACTOR * thread<int>(); }
    extern "C" int NAME() {
      int *out, first;
      cudaMalloc(&out, 4 * sizeof(int));
      NAME_kernel<<<1, 4>>>(out);
      cudaMemcpy(&first, out, sizeof(int), cudaMemcpyDeviceToHost);
      cudaFree(out);
      return first;
    }
    """

    def text(self, name: str, factor: int) -> str:
        return self.SOURCE.replace("NAME", name).replace("FACTOR", str(factor))

    @pytest.mark.parametrize("checks", [(), ((CHECKS, "1"),)], ids=["plain", "checks"])
    def test_an_edit_compiles_that_source_alone(
        self, cache: Cache, project: Path, tmp_path: Path, checks: tuple[tuple[str, str], ...]
    ) -> None:
        accessor = tmp_path / "installed" / "include" / "torch" / "headeronly" / "core" / "TensorAccessor.h"
        accessor.parent.mkdir(parents=True)
        accessor.write_text("#pragma once\n")
        library = InstalledLibrary(tmp_path / "installed", ("big", "1"))
        flags = ("-DTORCH_STABLE_ONLY", "-isystem", str(tmp_path / "installed" / "include"))
        (project / "thread.cuh").write_text(self.HEADER)
        for name, factor in (("one", 1), ("two", 2)):
            (project / f"{name}.cu").write_text(self.text(name, factor))
        sources = (project / "one.cu", project / "two.cu")
        request = BuildRequest(sources, "both.so", language="cuda-twin", flags=flags, defines=checks, library=library)
        assert answers(request, cache) == (1, 2)
        (project / "two.cu").write_text(self.text("two", 3))
        said: list[str] = []
        build(request, cache, on_progress=said.append)
        assert [words.partition(" (")[0] for words in said] == ["compiling two.cu", "linking both.so"]
        assert answers(request, cache) == (1, 3)
