"""The short way through a library's headers, on a library small enough to compile in a moment."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from opbridge.base.errors import BuildError
from opbridge.build.cache import Cache
from opbridge.build.toolchains import BuildRequest, build, precompile
from opbridge.build.toolchains.interface import InstalledLibrary, SlimHeaders

MakeRequest = Callable[..., BuildRequest]

SOURCE = """#include <big.h>
extern "C" int answer() { return small(); }
"""
NEEDS_MORE = SOURCE.replace("small()", "small() + rest()")


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A library whose big.h includes small.h and the rest, and takes its time to say so."""
    folder = tmp_path / "installed"
    folder.mkdir()
    (folder / "small.h").write_text("#pragma once\ninline int small() { return 4; }\n")
    (folder / "big.h").write_text("#pragma once\n#include <small.h>\ninline int rest() { return 2; }\n")
    return folder


@pytest.fixture
def shorter(tmp_path: Path) -> Path:
    folder = tmp_path / "shorter"
    folder.mkdir()
    (folder / "big.h").write_text("#ifndef SHORT_BIG\n#define SHORT_BIG\n#include <small.h>\n#endif\n")
    return folder


@pytest.fixture
def request_to(request_for: MakeRequest, installed: Path, shorter: Path) -> MakeRequest:
    """A request for a source that includes the library."""

    def make(text: str = SOURCE, version: str = "1.0", **fields: object) -> BuildRequest:
        slim_headers = SlimHeaders(shorter, shorter / "big.h", f"big-{version}.h")
        library = InstalledLibrary(installed, ("big", version), slim_headers)
        return request_for(text, library=library, flags=("-isystem", str(installed)), **fields)

    return make


def answer(request: BuildRequest, cache: Cache) -> int:
    return int(ctypes.CDLL(str(build(request, cache).path)).answer())


def precompiled(cache: Cache) -> list[tuple[str, ...]]:
    return [entry.files for entry in cache.entries() if any(name.endswith(".gch") for name in entry.files)]


def test_the_headers_are_precompiled_once_for_all_sources(
    cache: Cache, request_to: MakeRequest, wrapper: Callable[..., object]
) -> None:
    compiler = wrapper()
    assert answer(request_to(), cache) == 4
    assert answer(request_to(SOURCE.replace("small()", "2 * small()"), name="other.cpp"), cache) == 8
    runs = [run for run in compiler.runs if " -x c++-header " in run]  # type: ignore[attr-defined]
    assert len(runs) == 1
    assert precompiled(cache) == [("big-1.0.h", "big-1.0.h.d", "big-1.0.h.gch")]


def worth_from_two(request: BuildRequest) -> BuildRequest:
    assert request.library is not None
    assert request.library.slim_headers is not None
    headers = replace(request.library.slim_headers, worth_from=2)
    return replace(request, library=replace(request.library, slim_headers=headers))


def test_the_first_source_does_without_where_that_takes_less(cache: Cache, request_to: MakeRequest) -> None:
    """Whoever edits it, or has another, is going to have more."""
    first = worth_from_two(request_to())
    assert [answer(one, cache) for one in (first, replace(first, flags=(*first.flags, "-Wextra")))] == [4, 4]
    assert precompiled(cache) == []
    assert answer(worth_from_two(request_to(SOURCE.replace("small()", "2 * small()"))), cache) == 8
    assert len(precompiled(cache)) == 1


def test_who_expects_many_sources_precompiles_before_the_first(cache: Cache, request_to: MakeRequest) -> None:
    precompile(worth_from_two(request_to()), cache, slim=True)
    assert [names[0] for names in precompiled(cache)] == ["big-1.0.h"]


def test_many_sources_do_not(cache: Cache, request_to: MakeRequest, project: Path) -> None:
    other = project / "other.cpp"
    other.write_text(SOURCE.replace("answer", "other"))
    request = worth_from_two(request_to())
    build(replace(request, sources=(*request.sources, other)), cache)
    assert len(precompiled(cache)) == 1


def test_the_precompiled_header_is_really_used(cache: Cache, request_to: MakeRequest) -> None:
    request = request_to()
    said = build(replace(request, flags=(*request.flags, "-H")), cache).log  # a ! marks what was read precompiled
    assert re.search(r"^! .*big-1\.0\.h\.gch$", said, re.MULTILINE)


def test_one_fits_every_level_that_optimizes(
    cache: Cache, request_to: MakeRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = request_to()
    for level in ("1", "3"):
        monkeypatch.setenv("OPBRIDGE_OPTIMIZE", level)
        said = build(replace(request, flags=(*request.flags, "-H")), cache).log
        assert re.search(r"^! .*big-1\.0\.h\.gch$", said, re.MULTILINE)
    assert len(precompiled(cache)) == 1


def test_a_header_of_the_users_in_the_place_of_a_librarys_is_taken(
    cache: Cache, request_to: MakeRequest, project: Path
) -> None:
    request = request_to(include_dirs=(project / "own",))
    assert answer(request, cache) == 4
    (project / "own").mkdir()
    (project / "own" / "small.h").write_text("#pragma once\ninline int small() { return 5; }\n")
    assert answer(request, cache) == 5


def test_other_headers_of_the_users_hide_none_of_a_librarys(
    cache: Cache, request_to: MakeRequest, project: Path
) -> None:
    (project / "own").mkdir()
    (project / "own" / "others.h").touch()
    build(request_to(include_dirs=(project / "own",)), cache)
    assert len(precompiled(cache)) == 1


def test_a_source_that_needs_more_gets_the_librarys_own_headers(cache: Cache, request_to: MakeRequest) -> None:
    assert answer(request_to(NEEDS_MORE), cache) == 6


@pytest.mark.parametrize("macro", ["SIZE", "UNSAID"])
def test_a_macro_before_the_header_means_what_it_meant(
    cache: Cache, request_to: MakeRequest, installed: Path, macro: str
) -> None:
    """Where the headers know it they are read as text; a comment does not know it."""
    (installed / "small.h").write_text(
        "// UNSAID\n#pragma once\n#ifndef SIZE\n#define SIZE 4\n#endif\ninline int small() { return SIZE; }\n"
    )
    request = request_to(f"#define {macro} 7\n{SOURCE}")
    assert request.library is not None
    before = ((request.sources[0], frozenset({macro})),)
    request = replace(request, library=replace(request.library, before=before))
    assert answer(request, cache) == (7 if macro == "SIZE" else 4)
    assert bool(precompiled(cache)) == (macro == "UNSAID")


def test_a_source_behind_other_code_goes_the_long_way(cache: Cache, request_to: MakeRequest, project: Path) -> None:
    other = project / "other.cpp"
    other.write_text('#include <big.h>\n#ifndef NDEBUG\n#error\n#endif\nextern "C" int other() { return rest(); }\n')
    request = request_to(defines=(("NDEBUG", "1"),))
    assert request.library is not None
    library = replace(request.library, before=((other, None),))
    request = replace(request, sources=(*request.sources, other), library=library)
    built = ctypes.CDLL(str(build(request, cache).path))
    assert (built.answer(), built.other()) == (4, 2)
    assert len(precompiled(cache)) == 1


def test_of_several_those_that_need_more_go_the_long_way_alone(
    cache: Cache, request_to: MakeRequest, project: Path, wrapper: Callable[..., object]
) -> None:
    compiler = wrapper()
    other = project / "other.cpp"
    other.write_text(NEEDS_MORE.replace("answer", "other"))
    request = request_to()
    built = ctypes.CDLL(str(build(replace(request, sources=(*request.sources, other)), cache).path))
    assert (built.answer(), built.other()) == (4, 6)
    runs = [run for run in compiler.runs if " -c " in run]  # type: ignore[attr-defined]
    assert sorted(re.findall(r"(\w+)\.cpp", " ".join(runs))) == ["kernel", "other", "other"]


def test_a_mistake_of_who_goes_the_long_way_is_told_at_once(
    cache: Cache, request_to: MakeRequest, project: Path, wrapper: Callable[..., object]
) -> None:
    compiler = wrapper()
    other = project / "other.cpp"
    other.write_text("std::unique_ptr<int> p;\n")
    request = request_to()
    assert request.library is not None
    library = replace(request.library, before=((other, None),))
    with pytest.raises(BuildError, match="unique_ptr"):
        build(replace(request, sources=(*request.sources, other), library=library), cache)
    assert len([run for run in compiler.runs if " -c " in run]) == 2  # type: ignore[attr-defined]


def whole(request: BuildRequest) -> BuildRequest:
    """The request where the library's own headers can be precompiled, too."""
    assert request.library is not None
    headers = SlimHeaders(request.library.folder, request.library.folder / "big.h", "whole-1.0.h")
    return replace(request, library=replace(request.library, whole_headers=headers))


def test_its_own_headers_are_precompiled_only_where_somebody_asks_for_it(
    cache: Cache, request_to: MakeRequest, wrapper: Callable[..., object]
) -> None:
    compiler = wrapper()
    assert answer(whole(request_to(NEEDS_MORE)), cache) == 6
    assert len(precompiled(cache)) == 1
    precompile(whole(request_to(NEEDS_MORE)), cache)
    assert [names[0] for names in precompiled(cache)] == ["big-1.0.h", "whole-1.0.h"]
    assert answer(whole(request_to(NEEDS_MORE.replace("rest()", "2 * rest()"))), cache) == 8
    *_, slim, wide, _ = compiler.runs  # type: ignore[attr-defined]
    assert "big-1.0.h" in slim
    assert "whole-1.0.h" in wide


def test_its_own_headers_serve_a_first_source_if_they_alone_are_precompiled(
    cache: Cache, request_to: MakeRequest, wrapper: Callable[..., object]
) -> None:
    compiler = wrapper()
    request = whole(worth_from_two(request_to()))
    precompile(request, cache)
    assert answer(request, cache) == 4
    (compiled,) = (run for run in compiler.runs if " -c " in run)  # type: ignore[attr-defined]
    assert "whole-1.0.h" in compiled
    assert [names[0] for names in precompiled(cache)] == ["whole-1.0.h"]


def test_a_mistake_is_told_as_if_there_were_no_short_way(cache: Cache, request_to: MakeRequest, project: Path) -> None:
    with pytest.raises(BuildError) as failure:
        build(request_to(SOURCE + "int broken = ;\n"), cache)
    assert str(failure.value).startswith(f"{project}/kernel.cpp:3:14: error: expected primary-expression")
    assert "shorter" not in str(failure.value)


def test_what_cannot_be_precompiled_is_compiled_as_it_is(
    cache: Cache, request_to: MakeRequest, wrapper: Callable[..., object]
) -> None:
    wrapper('case "$*" in *c++-header*) echo out of memory >&2; exit 1;; esac')
    assert answer(request_to(), cache) == 4
    assert precompiled(cache) == []


def test_a_damaged_one_is_made_again(cache: Cache, request_to: MakeRequest) -> None:
    assert answer(request_to(), cache) == 4
    (damaged,) = cache.root.rglob("*.gch")
    damaged.write_bytes(damaged.read_bytes()[:100])
    assert answer(request_to(SOURCE.replace("small()", "3 * small()")), cache) == 12
    assert damaged.stat().st_size > 100


def test_one_that_the_compiler_refuses_is_not_needed(cache: Cache, request_to: MakeRequest) -> None:
    """Options that change what headers mean make a compiler drop it; the text beside it serves then."""
    request = request_to()
    assert answer(request, cache) == 4
    (header,) = (path.with_suffix("") for path in cache.root.rglob("*.gch"))
    assert header.read_text().startswith("#include ")
    assert answer(replace(request, defines=(("SHORT_BIG", ""),)), cache) == 4


class TestStale:
    def test_a_new_version_of_the_library_makes_everything_anew(
        self, cache: Cache, request_to: MakeRequest, installed: Path
    ) -> None:
        assert answer(request_to(), cache) == 4
        (installed / "small.h").write_text("#pragma once\ninline int small() { return 5; }\n")
        assert answer(request_to(version="1.1"), cache) == 5
        assert [names[0] for names in precompiled(cache)] == ["big-1.0.h", "big-1.1.h"]

    def test_edited_headers_outside_the_library_are_noticed(
        self, cache: Cache, request_to: MakeRequest, shorter: Path
    ) -> None:
        assert answer(request_to(), cache) == 4
        with (shorter / "big.h").open("a") as header:
            header.write("#define small() 7\n")
        assert answer(request_to(), cache) == 7

    def test_other_flags_get_their_own(self, cache: Cache, request_to: MakeRequest) -> None:
        assert answer(request_to(), cache) == 4
        assert answer(request_to(standard="c++20"), cache) == 4
        assert len(precompiled(cache)) == 2

    @pytest.mark.parametrize("flag", ["-O1", "-Wextra", "-DOTHER", "-I.", "-fwrapv"])
    def test_flags_that_change_nothing_in_it_share_one(self, cache: Cache, request_to: MakeRequest, flag: str) -> None:
        request = request_to()
        assert [answer(one, cache) for one in (request, replace(request, flags=(*request.flags, flag)))] == [4, 4]
        assert len(precompiled(cache)) == 1

    def test_macros_of_a_project_are_not_in_what_all_share(self, cache: Cache, request_to: MakeRequest) -> None:
        text = SOURCE.replace("small()", "N")
        assert [answer(request_to(text, defines=(("N", str(n)),)), cache) for n in (1, 2)] == [1, 2]
        assert len(precompiled(cache)) == 1


class TestNoAssert:
    """NDEBUG is a macro that headers ask for: in front of a precompiled one the compiler would drop it."""

    ASSERTS = '#include <big.h>\nextern "C" int answer() {\n  int ran = small();\n  assert(++ran);\n  return ran;\n}\n'

    @pytest.fixture(autouse=True)
    def asserting(self, installed: Path) -> None:
        (installed / "small.h").write_text("#pragma once\n#include <cassert>\ninline int small() { return 4; }\n")

    @pytest.mark.parametrize("flags", [("-DNDEBUG",), ("-UNDEBUG", "-DNDEBUG=1")])
    def test_by_a_flag(self, cache: Cache, request_to: MakeRequest, flags: tuple[str, ...]) -> None:
        request = request_to(self.ASSERTS)
        request = replace(request, flags=(*request.flags, "-H"))  # a ! marks what was read precompiled
        with_it = replace(request, flags=(*request.flags, *flags))
        assert [answer(one, cache) for one in (request, with_it)] == [5, 4]
        assert re.search(r"^! .*big-1\.0\.h\.gch$", build(with_it, cache).log, re.MULTILINE)
        assert len(precompiled(cache)) == 1

    def test_by_a_macro(self, cache: Cache, request_to: MakeRequest) -> None:
        assert answer(request_to(self.ASSERTS, defines=(("NDEBUG", ""),)), cache) == 4

    def test_the_last_flag_decides(self, cache: Cache, request_to: MakeRequest) -> None:
        request = request_to(self.ASSERTS)
        assert answer(replace(request, flags=(*request.flags, "-DNDEBUG", "-UNDEBUG")), cache) == 5


class TestMistakes:
    """A name that the library has nowhere is told at once: its own headers, which take long, would not know it."""

    CALL = "#include <big.h>\nint f() { return big::%s(); }\n"

    @pytest.fixture
    def attempts(self, cache: Cache, request_to: MakeRequest, installed: Path, shorter: Path) -> Callable[[str], int]:
        for header, name in ((installed / "small.h", "small"), (installed / "big.h", "rest")):
            header.write_text(header.read_text() + f"namespace big {{ int {name}(); }}\n")

        def attempts(name: str) -> int:
            request = request_to(self.CALL % name, link_flags=("-Wl,-z,undefs",))
            assert request.library is not None
            assert request.library.slim_headers is not None
            slim_headers = replace(request.library.slim_headers, namespaces=("big",))
            said: list[str] = []
            with suppress(BuildError):
                build(replace(request, library=replace(request.library, slim_headers=slim_headers)), cache, said.append)
            return said.count("compiling kernel.cpp")

        return attempts

    @pytest.mark.parametrize(("name", "times"), [("small", 1), ("rest", 2), ("smaller", 1)])
    def test_decides_how_often_the_compiler_is_asked(
        self, attempts: Callable[[str], int], name: str, times: int
    ) -> None:
        assert attempts(name) == times
