from __future__ import annotations

import ctypes
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from forked_python import PYTHON

from opbridge.base.errors import BuildError, InputError, ToolchainError
from opbridge.build.cache import Cache
from opbridge.build.toolchains import INCLUDE, BuildRequest, build, build_many

MakeRequest = Callable[..., BuildRequest]
ANSWER = 'extern "C" int answer() { return %d; }\n'


def answer(library: Path) -> int:
    return int(ctypes.CDLL(str(library)).answer())


class TestBuild:
    def test_builds_once(self, cache: Cache, request_for: MakeRequest) -> None:
        request = request_for(ANSWER % 42)
        first, second = build(request, cache), build(request, cache)
        assert (first.cached, second.cached) == (False, True)
        assert first.path == second.path
        assert answer(second.path) == 42

    def test_a_hit_starts_no_process(
        self, cache: Cache, request_for: MakeRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        request = request_for(ANSWER % 1)
        build(request, cache)
        # Watches for a process.
        monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("started a process"))
        assert build(request, cache).cached

    def test_several_sources_with_one_base_name(self, cache: Cache, project: Path) -> None:
        for name, text in {
            "one/part.cpp": "int one() { return 1; }",
            "two/part.cpp": "int two() { return 2; }",
            "main.cpp": 'int one(); int two(); extern "C" int answer() { return one() * 10 + two(); }',
        }.items():
            (project / name).parent.mkdir(exist_ok=True)
            (project / name).write_text(text)
        library = build(BuildRequest(tuple(sorted(project.rglob("*.cpp"))), "parts.so"), cache)
        assert answer(library.path) == 12

    def test_keeps_what_the_compiler_said(self, cache: Cache, request_for: MakeRequest) -> None:
        request = request_for('extern "C" int answer() { int unused; return 1; }')
        assert "unused variable" in build(request, cache).log
        assert "unused variable" in build(request, cache).log

    def test_tells_of_its_progress(self, cache: Cache, request_for: MakeRequest) -> None:
        said: list[str] = []
        build(request_for(ANSWER % 1), cache, on_progress=said.append)
        assert said == ["compiling kernel.cpp", "linking kernel.so"]

    def test_tells_of_a_source_when_its_turn_comes(
        self, cache: Cache, project: Path, wrapper: Callable[..., object]
    ) -> None:
        done = project / "done"
        wrapper(f'case "$*" in *" -c "*) echo >> {done}; esac')
        sources = [project / f"{name}.cpp" for name in ("one", "three", "two")]
        for source in sources:
            source.write_text(f"int {source.stem}() {{ return 1; }}\n")
        begun: list[int] = []

        def tell(_: str) -> None:
            begun.append(len(done.read_text()) if done.exists() else 0)

        build_many([BuildRequest(tuple(sources), "three.so")], cache, jobs=1, on_progress=tell)
        assert begun == [0, 1, 2, 3]

    def test_logs_its_progress_unless_somebody_listens(
        self, cache: Cache, request_for: MakeRequest, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level("INFO", "opbridge")
        build(request_for(ANSWER % 1), cache)
        assert "compiling kernel.cpp" in caplog.text

    def test_uses_the_default_cache(
        self, tmp_path: Path, request_for: MakeRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPBRIDGE_CACHE_DIR", str(tmp_path / "default"))
        assert build(request_for(ANSWER % 1)).path.is_relative_to(tmp_path / "default")

    def test_errors_call_an_inline_source_by_its_name_alone(self, cache: Cache) -> None:
        source = cache.keep("mine.cpp", "int broken")
        with pytest.raises(BuildError, match=r"^mine\.cpp:1:"):
            build(BuildRequest((source,), "mine.so"), cache)

    def test_the_headers_of_opbridge_are_found(self, cache: Cache, request_for: MakeRequest) -> None:
        text = '#include <opbridge/abi.h>\nextern "C" int answer() { return OB_ABI_VERSION; }'
        assert answer(build(request_for(text), cache).path) == 1

    def test_file_names_in_messages_do_not_tell_where_the_project_lies(
        self, cache: Cache, request_for: MakeRequest
    ) -> None:
        library = build(request_for('extern "C" const char* file() { return __FILE__; }'), cache)
        function = ctypes.CDLL(str(library.path)).file
        function.restype = ctypes.c_char_p
        assert function() == b"kernel.cpp"


class TestRebuild:
    """What shapes a library, and what does not."""

    @pytest.mark.parametrize(
        "change",
        [
            {"defines": (("N", "1"),)},
            {"flags": ("-O1",)},
            {"link_flags": ("-Wl,-O1",)},
            {"portable": True},
            {"standard": "c++20"},
            {"output": "other.so"},
        ],
        ids=lambda change: next(iter(change)),
    )
    def test_a_changed_request(self, cache: Cache, request_for: MakeRequest, change: dict[str, object]) -> None:
        request = request_for(ANSWER % 1)
        build(request, cache)
        assert not build(replace(request, **change), cache).cached  # type: ignore[arg-type]
        assert build(request, cache).cached

    def test_flags_that_join_to_the_same_text(self, cache: Cache, request_for: MakeRequest) -> None:
        one = request_for('#ifdef A\nextern "C" int answer() { return 1; }\n#endif', flags=("-D", "AB", "-DA"))
        build(one, cache)
        assert not build(replace(one, flags=("-DAB", "-DA")), cache).cached

    def test_an_edited_source_and_back(self, cache: Cache, request_for: MakeRequest) -> None:
        assert answer(build(request_for(ANSWER % 1), cache).path) == 1
        assert answer(build(request_for(ANSWER % 2), cache).path) == 2
        assert build(request_for(ANSWER % 1), cache).cached

    def test_an_edited_header_and_back(self, cache: Cache, project: Path, request_for: MakeRequest) -> None:
        (project / "with space #1.h").write_text('#include "deep/number.h"')
        (project / "deep").mkdir()
        number = project / "deep" / "number.h"
        source = '#include "with space #1.h"\nextern "C" int answer() { return NUMBER; }'
        for value, cached in ((1, False), (2, False), (1, True)):
            number.write_text(f"#define NUMBER {value}")
            library = build(request_for(source), cache)
            assert (answer(library.path), library.cached) == (value, cached)

    def test_touched_files_are_not_compiled(self, cache: Cache, project: Path, request_for: MakeRequest) -> None:
        (project / "number.h").write_text("#define NUMBER 1")
        request = request_for('#include "number.h"\nextern "C" int answer() { return NUMBER; }')
        build(request, cache)
        for path in project.iterdir():
            path.touch()
        assert build(request, cache).cached

    def test_a_new_header_that_hides_another(self, cache: Cache, project: Path, request_for: MakeRequest) -> None:
        for folder in ("first", "second"):
            (project / folder).mkdir()
        (project / "second" / "number.h").write_text("#define NUMBER 2")
        folders = (project / "first", project / "second")
        request = request_for('#include <number.h>\nextern "C" int answer() { return NUMBER; }', include_dirs=folders)
        assert answer(build(request, cache).path) == 2
        assert build(request, cache).cached
        (project / "first" / "number.h").write_text("#define NUMBER 1")
        assert answer(build(request, cache).path) == 1

    def test_an_edited_static_library(self, cache: Cache, project: Path, request_for: MakeRequest) -> None:
        request = request_for('int part();\nextern "C" int answer() { return part(); }', link_flags=("libpart.a",))
        for value in (1, 2):
            (project / "part.cc").write_text(f"int part() {{ return {value}; }}")
            subprocess.run("g++ -fPIC -c part.cc && ar rcs libpart.a part.o", shell=True, cwd=project, check=True)
            assert answer(build(request, cache).path) == value

    def test_another_compiler(self, cache: Cache, request_for: MakeRequest, wrapper: Callable[..., object]) -> None:
        request = request_for(ANSWER % 1)
        build(request, cache)
        wrapper()
        assert not build(request, cache).cached
        wrapper("# upgraded")
        assert not build(request, cache).cached

    def test_the_environment_of_the_compiler(
        self, cache: Cache, project: Path, request_for: MakeRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        request = request_for(ANSWER % 1)
        build(request, cache)
        monkeypatch.setenv("CPATH", str(project))
        assert not build(request, cache).cached

    def test_another_processor(
        self, cache: Cache, project: Path, request_for: MakeRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        request = request_for(ANSWER % 1)
        portable = replace(request, portable=True)
        build(request, cache)
        build(portable, cache)
        cpuinfo = project / "cpuinfo"
        cpuinfo.write_text("processor : 0\nflags : sse2 avx9000\n\nprocessor : 1\n")
        # Another processor, which no test can plug in.
        monkeypatch.setattr("opbridge.build.toolchains.machine_identity.CPUINFO", cpuinfo)
        assert not build(request, cache).cached
        assert build(portable, cache).cached

    def test_a_copy_of_the_project_elsewhere_shares(
        self, cache: Cache, project: Path, request_for: MakeRequest
    ) -> None:
        (project / "include").mkdir()
        (project / "include" / "number.h").write_text("#define NUMBER 1")
        text = '#include <number.h>\nextern "C" int answer() { return NUMBER; }'
        request = request_for(text, include_dirs=(project / "include",))
        build(request, cache)
        copy = Path(shutil.copytree(project, project.with_name("copy")))
        moved = replace(request, sources=(copy / "kernel.cpp",), include_dirs=(copy / "include",))
        assert build(moved, cache).cached
        (copy / "include" / "number.h").write_text("#define NUMBER 2")
        assert answer(build(moved, cache).path) == 2
        assert build(request, cache).cached

    def test_debug_information_ties_a_library_to_its_project(
        self, cache: Cache, project: Path, request_for: MakeRequest
    ) -> None:
        request = request_for(ANSWER % 1, flags=("-g",))
        build(request, cache)
        copy = Path(shutil.copytree(project, project.with_name("copy")))
        assert not build(replace(request, sources=(copy / "kernel.cpp",)), cache).cached


class TestBuildMany:
    def test_gives_the_libraries_in_order(self, cache: Cache, request_for: MakeRequest) -> None:
        libraries = build_many([request_for(ANSWER % i, f"k{i}.cpp") for i in range(4)], cache)
        assert [answer(library.path) for library in libraries] == [0, 1, 2, 3]

    def test_of_none_is_none(self, cache: Cache) -> None:
        assert build_many([], cache) == []

    def test_reports_every_failure(self, cache: Cache, request_for: MakeRequest) -> None:
        texts = ["int a = ;", ANSWER % 1, "int b = ;"]
        with pytest.raises(BuildError) as failure:
            build_many([request_for(text, f"k{i}.cpp") for i, text in enumerate(texts)], cache)
        text = str(failure.value)
        assert "k0.cpp:1:9: error" in text
        assert "k2.cpp:1:9: error" in text
        assert "k1.cpp" not in text
        assert text.endswith("2 of 3 libraries could not be built")

    def test_one_library_reports_every_source_that_fails(self, cache: Cache, project: Path) -> None:
        sources = tuple(project / name for name in ("a.cpp", "b.cpp"))
        for source in sources:
            source.write_text("int a = ;")
        with pytest.raises(BuildError, match=r"(?s)a\.cpp:1:9: error.*b\.cpp:1:9: error"):
            build(BuildRequest(sources, "ab.so"), cache)

    def test_one_failure_is_told_as_it_is(self, cache: Cache, request_for: MakeRequest) -> None:
        with pytest.raises(BuildError) as failure:
            build_many([request_for("int a = ;", "bad.cpp"), request_for(ANSWER % 1)], cache)
        assert "could not be built" not in str(failure.value)

    def test_runs_so_many_compilers_at_a_time(
        self, cache: Cache, tmp_path: Path, request_for: MakeRequest, wrapper: Callable[..., object]
    ) -> None:
        # Every compiler leaves a mark while it runs, and fails when it meets another's.
        wrapper(f"mkdir {tmp_path}/busy || exit 9; sleep 0.05; rmdir {tmp_path}/busy")
        build_many([request_for(ANSWER % i, f"k{i}.cpp") for i in range(3)], cache, jobs=1)

    def test_one_request_twice_is_built_once(
        self, cache: Cache, request_for: MakeRequest, wrapper: Callable[..., object]
    ) -> None:
        compiler = wrapper()
        build_many([request_for(ANSWER % 1)] * 4, cache)
        assert compiler.compiled == 1  # type: ignore[attr-defined]


class TestRefusals:
    def test_no_sources(self) -> None:
        with pytest.raises(BuildError, match="at least one source"):
            BuildRequest((), "k.so")

    def test_an_output_with_a_folder(self, project: Path) -> None:
        with pytest.raises(BuildError, match="expected a file name without a folder"):
            BuildRequest((project / "k.cpp",), "../k.so")

    def test_a_source_that_is_not_there(self, cache: Cache, project: Path) -> None:
        with pytest.raises(InputError, match=r"gone\.cpp: no such file\n.*k\.so"):
            build(BuildRequest((project / "gone.cpp",), "k.so"), cache)

    def test_a_source_of_another_language(self, cache: Cache, request_for: MakeRequest) -> None:
        with pytest.raises(InputError, match=r"kernel\.cu: the host C\+\+ compiler takes \.cpp, .*, not \.cu"):
            build(request_for("", "kernel.cu"), cache)

    def test_a_language_that_is_none(self, cache: Cache, request_for: MakeRequest) -> None:
        with pytest.raises(ToolchainError, match=r"no toolchain for the language 'c\+'.*did you mean 'c\+\+'"):
            build(request_for("", language="c+"), cache)


BUILD = """
import sys
from pathlib import Path
from opbridge.build.toolchains import BuildRequest, build
source = Path(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
build(BuildRequest((source,), source.stem + ".so"))
"""


class TestProcesses:
    @pytest.fixture
    def start(self, cache: Cache) -> Callable[[Path], subprocess.Popen[str]]:
        """A process that is about to build; a line on its standard input sets it off."""

        def start(source: Path) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [PYTHON, "-c", BUILD, str(source)],
                env={**os.environ, "OPBRIDGE_CACHE_DIR": str(cache.root)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            assert process.stdout
            process.stdout.readline()
            return process

        return start

    def test_eight_that_want_the_same_compile_it_once(
        self,
        cache: Cache,
        request_for: MakeRequest,
        wrapper: Callable[..., object],
        start: Callable[[Path], subprocess.Popen[str]],
    ) -> None:
        compiler = wrapper("sleep 0.2")
        request = request_for(ANSWER % 8)
        processes = [start(request.sources[0]) for _ in range(8)]
        for process in processes:
            assert process.stdin
            process.stdin.write("\n")
            process.stdin.flush()
        for process in processes:
            process.communicate(timeout=60)
            assert process.returncode == 0
        assert compiler.compiled == 1  # type: ignore[attr-defined]
        assert answer(build(request, cache).path) == 8

    @pytest.mark.parametrize("number", [12, pytest.param(50, marks=pytest.mark.matrix("twelve are killed, too"))])
    def test_many_killed_at_any_moment_leave_a_usable_cache(
        self, cache: Cache, request_for: MakeRequest, start: Callable[[Path], subprocess.Popen[str]], number: int
    ) -> None:
        requests = [request_for(ANSWER % i, f"k{i}.cpp") for i in range(number)]
        began = time.perf_counter()
        build(request_for(ANSWER % 99), cache)
        whole = time.perf_counter() - began
        moments = random.Random(0)
        for request in requests:
            process = start(request.sources[0])
            assert process.stdin
            process.stdin.write("\n")
            process.stdin.flush()
            time.sleep(moments.uniform(0, 1.5 * whole))
            process.kill()
            process.communicate()
            assert process.returncode in (0, -signal.SIGKILL)
        libraries = build_many(requests, cache)
        assert [answer(library.path) for library in libraries] == list(range(number))
        cache.gc()
        assert list((cache.root / "building").iterdir()) == []
        assert all(library.cached for library in build_many(requests, cache))


def test_opbridges_own_headers_are_where_they_are_looked_for() -> None:
    assert (INCLUDE / "opbridge" / "abi.h").is_file()
