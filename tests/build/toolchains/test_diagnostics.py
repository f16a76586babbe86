from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from opbridge.base.errors import BuildError
from opbridge.build.cache import Cache
from opbridge.build.toolchains import BuildRequest, build
from opbridge.cli import main

MakeRequest = Callable[..., BuildRequest]


@pytest.fixture
def error_of(cache: Cache, request_for: MakeRequest) -> Callable[..., str]:
    """The message of the failure to build a source."""

    def error_of(text: str, **fields: object) -> str:
        with pytest.raises(BuildError) as failure:
            build(request_for(text, **fields), cache)
        return str(failure.value)

    return error_of


ErrorOf = Callable[..., str]


class TestCompileErrors:
    def test_begin_with_the_line_and_a_caret(self, error_of: ErrorOf, project: Path) -> None:
        lines = error_of("int f() {\n  return undeclared;\n}\n").splitlines()
        assert re.fullmatch(
            rf"{project}/kernel\.cpp:2:10: error: .undeclared. was not declared in this scope", lines[0]
        )
        assert lines[1] == "    2 |   return undeclared;"
        assert lines[2] == "      |          ^~~~~~~~~~"

    @pytest.mark.parametrize(("here", "named"), [(".", "kernel.cpp"), ("..", "{project.name}/kernel.cpp")])
    def test_name_files_below_the_readers_folder_as_he_would(
        self, error_of: ErrorOf, project: Path, monkeypatch: pytest.MonkeyPatch, here: str, named: str
    ) -> None:
        monkeypatch.chdir(project / here)
        assert error_of("int a = ;").startswith(f"{named.format(project=project)}:1:9: error: ")

    def test_end_with_a_command_that_shows_everything_that_was_said(
        self, error_of: ErrorOf, cache: Cache, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        last = error_of("int a = ;").splitlines()[-1]
        assert re.fullmatch(r"the whole output: opbridge cache log [0-9a-f]{12}", last)
        monkeypatch.setenv("OPBRIDGE_CACHE_DIR", str(cache.root))
        assert main(last.split()[4:]) == 0
        shown = capsys.readouterr().out
        assert "error: expected primary-expression" in shown
        assert " -c " in shown
        for key in ("0123456789ab", "*", "../../..", "ab"):
            assert main(["cache", "log", key]) == 2
            assert f"no output of a compiler is kept for '{key}'" in capsys.readouterr().err
        assert main(["cache", "log"]) == 2
        assert "expected one of: ls, gc, clear, key FILE, log KEY" in capsys.readouterr().err

    def test_of_which_the_first_refuses_the_flags_are_that_one(self, error_of: ErrorOf) -> None:
        said = error_of("#error C++17 or later compatible compiler is required to use PyTorch.\nint a = ;")
        assert "hint: leave -std=… out of the flags" in said
        assert "expected" not in said

    def test_inside_the_standard_library_blame_the_line_that_called_it(self, error_of: ErrorOf, project: Path) -> None:
        text = error_of(
            "#include <algorithm>\n#include <vector>\nstruct S {};\n"
            "void f(std::vector<S>& s) { std::sort(s.begin(), s.end()); }\n"
        )
        lines = text.splitlines()
        assert lines[0].startswith(f"{project}/kernel.cpp:4:38: error: no match for")
        assert lines[1].startswith("  found in /usr/")
        assert lines[2].endswith("{ std::sort(s.begin(), s.end()); }")
        assert lines[3].index("^") == lines[2].index("(s.begin()")
        assert len(lines) < 10

    def test_in_a_header_of_the_users_point_there(self, error_of: ErrorOf, project: Path) -> None:
        (project / "mine.h").write_text("int broken = ;")
        assert error_of('#include "mine.h"\nint f();').startswith(f"{project}/mine.h:1:14: error: expected")

    def test_notes_about_the_users_lines_are_kept(self, error_of: ErrorOf, project: Path) -> None:
        text = error_of("void f(int);\nvoid f(char*, int);\nvoid g() { f(1.0, 2, 3); }\n")
        assert "note: candidate" in text
        assert f"({project}/kernel.cpp:1)" in text

    def test_are_not_many(self, error_of: ErrorOf) -> None:
        text = error_of("\n".join(f"int a{i} = b{i};" for i in range(20)))
        assert text.count("error:") == 5
        assert "... and 15 more" in text

    def test_have_colour_only_on_a_terminal(self, error_of: ErrorOf, monkeypatch: pytest.MonkeyPatch) -> None:
        assert "\033" not in error_of("int a = ;")
        # pytest's own stderr is no terminal.
        monkeypatch.setattr("sys.stderr.isatty", lambda: True)
        assert "\033[1;31merror\033[0m" in error_of("int a = ;")
        monkeypatch.setenv("NO_COLOR", "1")
        assert "\033" not in error_of("int a = ;")


KERNEL = "template <class T>\nvoid k(ob::In<T> x, ob::Out<T> y) { y[0] = x[0]; }\n"


class TestHints:
    @pytest.mark.parametrize(
        ("text", "hint"),
        [
            (f"{KERNEL}OB_KERNEL(k, float)", "#include <opbridge/kernel.h>"),
            ("OB_KERNEL(k, float)", "#include <opbridge/kernel.h>"),
            (f"#include <opbridge/kernel.h>\n{KERNEL}OB_KERNEL(k, flaot)", "OB_KERNEL takes C++ types: float"),
            ("#include <opbridge/kernel.h>\nstd::vector<int> v;", "#include the standard header that has this name"),
            (f"#include <opbridge/kernel.h>\n{KERNEL}OB_KERNEL(kk, float)", "the name of the function above it"),
            (f"#include <opbridge/kernel.h>\n{KERNEL}OB_KERNEL(k)", "OB_KERNEL(name, float, double)"),
            ("#include <opbridge/kernel.h>\nvoid k(ob::In<float> x) { x[0] = 1; }", "as ob::Out, or as ob::InOut"),
            ("#include <opbridge/kernel.h>\nvoid k(ob::In<T> x) {}\nOB_KERNEL(k, float)", "template <class T>"),
            (
                "#include <opbridge/kernel.h>\n#include <unistd.h>\nvoid sleep(ob::In<float> x) {}\nOB_KERNEL(sleep)",
                "there is more than one function sleep",
            ),
            ("#include <opbridge/kernels.h>", "<opbridge/kernel.h>"),
            ("#include <Python.h>", "python3-dev"),
            ("#include <torch/no_such.h>", "by a plain #include line"),
            ("#include <c10/cuda/CUDAGuard.h>", "torch_stream_guard"),
            ('#include "kernel_operator.h"', 'this is Ascend C: load it with device="ascend-twin"'),
            ("#include <cuda_runtime.h>", "opbridge compile NAME.cu NAME.so"),
            ("#include <no/such.h>", "CXXFLAGS=-I/the/folder"),
        ],
    )
    def test_for_common_mistakes(self, error_of: ErrorOf, text: str, hint: str) -> None:
        hints = [line for line in error_of(text).splitlines() if line.startswith("  hint: ")]
        assert len(hints) == 1
        assert hint in hints[0]

    def test_a_mistake_in_a_template_is_told_once(self, error_of: ErrorOf) -> None:
        kernel = KERNEL.replace("y[0] = x[0]", "x[0] = y[0]")
        assert error_of(f"#include <opbridge/kernel.h>\n{kernel}OB_KERNEL(k, float, double)").count("error:") == 1

    def test_what_follows_inside_a_library_is_left_out(self, error_of: ErrorOf) -> None:
        assert error_of(f"#include <opbridge/kernel.h>\n{KERNEL}OB_KERNEL(kk, float)").count("error:") == 1

    def test_a_type_that_is_none_is_told_once(self, error_of: ErrorOf) -> None:
        assert error_of(f"#include <opbridge/kernel.h>\n{KERNEL}OB_KERNEL(k, flaot)").count("error:") == 1

    def test_plain_mistakes_need_none(self, error_of: ErrorOf) -> None:
        assert "hint:" not in error_of("int f() { return 1 }")


class TestLinkErrors:
    def test_name_undefined_symbols_as_they_were_written(self, error_of: ErrorOf) -> None:
        text = error_of("namespace deep { int gone(int, const char*); }\nint f() { return deep::gone(1, nullptr); }")
        assert text.startswith("linking kernel.so failed\n  undefined symbol: deep::gone(int, char const*)\n")
        assert "LDFLAGS=-lNAME" in text

    def test_name_each_symbol_once(self, error_of: ErrorOf) -> None:
        assert error_of("int a();\nint f() { return a(); }\nint g() { return 2 * a(); }").count("undefined symbol") == 1

    def test_name_missing_libraries(self, error_of: ErrorOf) -> None:
        assert "library not found: nonsense (-lnonsense)" in error_of("", link_flags=("-lnonsense",))

    def test_name_what_is_there_twice(self, cache: Cache, project: Path) -> None:
        sources = (project / "a.cpp", project / "b.cpp")
        for source in sources:
            source.write_text("int same() { return 1; }")
        with pytest.raises(BuildError, match=r"defined twice: same\(\)\n  hint: keep one definition"):
            build(BuildRequest(sources, "ab.so"), cache)

    def test_that_nobody_foresaw_are_shown(self, error_of: ErrorOf) -> None:
        assert "unrecognized option" in error_of("", link_flags=("-Wl,--nonsense",))
