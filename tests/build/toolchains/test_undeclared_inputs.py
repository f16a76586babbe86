"""What shapes a library and stands in no makefile rule; before, each of these gave the library of before."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from opbridge.build.cache import Cache
from opbridge.build.toolchains import BuildRequest, build
from opbridge.build.toolchains.interface import InstalledLibrary
from opbridge.build.toolchains.search_folders import search_folders

MakeRequest = Callable[..., BuildRequest]


@pytest.fixture
def answer(cache: Cache) -> Callable[[BuildRequest], int]:
    """Build a library, see that a second build finds it, and ask it."""

    def ask(request: BuildRequest) -> int:
        path = build(request, cache).path
        assert build(request, cache).path == path
        return int(ctypes.CDLL(str(path)).answer())

    return ask


ASKING = """
#if __has_include({name})
extern "C" int answer() {{ return 2; }}
#else
extern "C" int answer() {{ return 1; }}
#endif
"""


class TestHasInclude:
    @pytest.mark.parametrize(
        ("name", "place"),
        [('"more.h"', "more.h"), ("<more.h>", "given/more.h"), ("<deep/more.h>", "path/deep/more.h")],
        ids=["beside the source", "-I in CXXFLAGS", "CPATH"],
    )
    def test_becomes_true_and_false_again(
        self,
        request_for: MakeRequest,
        answer: Callable[[BuildRequest], int],
        project: Path,
        monkeypatch: pytest.MonkeyPatch,
        name: str,
        place: str,
    ) -> None:
        monkeypatch.setenv("CXXFLAGS", f"-I{project / 'given'}")
        monkeypatch.setenv("CPATH", str(project / "path"))
        request = request_for(ASKING.format(name=name))
        assert answer(request) == 1
        (project / place).parent.mkdir(parents=True, exist_ok=True)
        (project / place).write_text("")
        assert answer(request) == 2
        (project / place).unlink()
        assert answer(request) == 1

    def test_a_name_that_a_macro_makes_is_not_cached(
        self, cache: Cache, request_for: MakeRequest, project: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        request = request_for("#define MORE <more.h>\n" + ASKING.format(name="MORE"), flags=(f"-I{project}",))
        assert not build(request, cache).cached
        (project / "more.h").write_text("")
        second = build(request, cache)
        assert (second.cached, ctypes.CDLL(str(second.path)).answer()) == (False, 2)
        assert "kernel.cpp asks __has_include(MORE): its inputs are unknown" in caplog.text

    def test_in_a_comment_or_where_it_is_defined_it_asks_nothing(self, cache: Cache, request_for: MakeRequest) -> None:
        text = "// __has_include(NAME)\n#ifndef __has_include\n#define __has_include(x) 0\n#endif\n"
        request = request_for(text + 'extern "C" int answer() { return 1; }')
        assert (build(request, cache).cached, build(request, cache).cached) == (False, True)


NUMBER = 'extern "C" int answer() { return NUMBER; }'


class TestHiddenHeaders:
    @pytest.mark.parametrize("by", ["CXXFLAGS", "CPATH", "flags"])
    def test_one_that_hides_another(
        self,
        request_for: MakeRequest,
        answer: Callable[[BuildRequest], int],
        project: Path,
        monkeypatch: pytest.MonkeyPatch,
        by: str,
    ) -> None:
        first, second = project / "first", project / "second"
        second.mkdir()
        (second / "number.h").write_text("#define NUMBER 2")
        flags = ("-I", str(first), "-isystem", str(second))
        if by == "CPATH":
            monkeypatch.setenv("CPATH", f"{first}{os.pathsep}{second}")
        elif by == "CXXFLAGS":
            monkeypatch.setenv("CXXFLAGS", " ".join(flags))
        request = request_for("#include <number.h>\n" + NUMBER, flags=flags if by == "flags" else ())
        assert answer(request) == 2
        first.mkdir()
        (first / "number.h").write_text("#define NUMBER 1")
        assert answer(request) == 1

    def test_one_of_the_systems(
        self, request_for: MakeRequest, answer: Callable[[BuildRequest], int], project: Path
    ) -> None:
        text = '#include <climits>\nextern "C" int answer() { return CHAR_BIT; }'
        request = request_for(text, include_dirs=(project / "own",))
        assert answer(request) == 8
        (project / "own").mkdir()
        (project / "own" / "climits").write_text("#define CHAR_BIT 9")
        assert answer(request) == 9

    @pytest.mark.parametrize("before", ["", "lib/other.h"], ids=["no folder", "a folder of that name"])
    def test_one_of_a_librarys_that_no_source_names(
        self, request_for: MakeRequest, answer: Callable[[BuildRequest], int], project: Path, before: str
    ) -> None:
        installed, own = project / "installed", project / "own"
        for path, text in {
            installed / "include/lib/all.h": "#include <lib/number.h>",
            installed / "include/lib/number.h": "#define NUMBER 1",
            own / (before or "other.h"): "",
        }.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        request = request_for(
            "#include <lib/all.h>\n" + NUMBER,
            include_dirs=(own,),
            flags=("-isystem", str(installed / "include")),
            library=InstalledLibrary(installed, ("lib", "1")),
        )
        assert answer(request) == 1
        (own / "lib").mkdir(exist_ok=True)
        (own / "lib" / "number.h").write_text("#define NUMBER 2")
        assert answer(request) == 2

    def test_one_beside_the_header_that_includes_it(
        self, request_for: MakeRequest, answer: Callable[[BuildRequest], int], project: Path
    ) -> None:
        for folder in ("outer", "inner"):
            (project / folder).mkdir()
        (project / "outer" / "outer.h").write_text('#include "number.h"')
        (project / "inner" / "number.h").write_text("#define NUMBER 1")
        request = request_for("#include <outer.h>\n" + NUMBER, flags=("-Iouter", "-Iinner"))
        assert answer(request) == 1
        (project / "outer" / "number.h").write_text("#define NUMBER 2")
        assert answer(request) == 2


@pytest.mark.parametrize("name", ["flags.txt", "{project}/flags.txt"])
def test_an_edited_file_of_flags(
    request_for: MakeRequest,
    answer: Callable[[BuildRequest], int],
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    monkeypatch.setenv("CXXFLAGS", "@" + name.format(project=project))
    (project / "flags.txt").write_text("@more.txt")
    for number in (1, 2, 1):
        (project / "more.txt").write_text(f"-DNUMBER={number} -Ifolder{number}")
        assert answer(request_for(NUMBER)) == number


def test_a_file_of_flags_names_folders(request_for: MakeRequest, project: Path) -> None:
    (project / "flags.txt").write_text("-I first -iquote 'sec ond' -isystem third")
    request = request_for("", flags=("@flags.txt",), root=project)
    folders = search_folders(request, (Path("/usr/include"),))
    assert folders.quoted == (project, project / "sec ond")
    assert folders.given == (project / "first", project / "third")
    assert folders.bracketed == (*folders.given, Path("/usr/include"))


INCLUDED = 'asm(".data\\n.globl number\\nnumber: .incbin %s\\n.text"); extern "C" { extern char number; }\n'


class TestAssembler:
    def test_an_edited_file(
        self, request_for: MakeRequest, answer: Callable[[BuildRequest], int], project: Path
    ) -> None:
        request = request_for(INCLUDED % r"\"number.bin\"" + 'extern "C" int answer() { return number; }')
        for number in (1, 2):
            (project / "number.bin").write_bytes(bytes([number]))
            assert answer(request) == number

    def test_a_name_that_a_macro_makes_is_not_cached(
        self, cache: Cache, request_for: MakeRequest, project: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (project / "number.bin").write_bytes(b"\1")
        request = request_for(
            INCLUDED % r'\"" FILE "\"' + NUMBER, defines=(("FILE", '"number.bin"'), ("NUMBER", "number"))
        )
        assert [build(request, cache).cached for _ in range(2)] == [False, False]
        assert "kernel.cpp has the assembler include a file whose name is not a literal" in caplog.text
