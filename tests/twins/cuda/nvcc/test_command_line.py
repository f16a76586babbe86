"""nvcc's command line, read: what goes to the host's compiler, what to the linker, and what is for a GPU alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from opbridge.base.errors import InputError
from opbridge.twins.cuda.nvcc.command_line import Source, parse


def test_a_usual_line() -> None:
    line = (
        "-O2 -std=c++20 -arch=sm_70 -gencode arch=compute_80,code=sm_80 -lineinfo --use_fast_math -DN=4 -I inc "
        "-Xcompiler -Wall,-fopenmp --ptxas-options=-v main.cu util.cpp -Llib -lm -o app"
    )
    words = parse(line.split())
    assert words.sources == [Source(Path("main.cu"), "cu"), Source(Path("util.cpp"), "c++")]
    assert words.host == ["-O2", "-std=c++20", "-DN=4", "-Iinc", "-Wall", "-fopenmp"]
    assert words.link == ["-fopenmp", "-Llib", "-lm"]
    assert words.switches == {"-o": "app"}
    assert words.phase == ""


@pytest.mark.parametrize(
    ("line", "phase"),
    [("-c a.cu", "-c"), ("--compile a.cu", "-c"), ("-dc a.cu", "-dc"), ("--device-c a.cu", "-dc"), ("-M a.cu", "-M")],
)
def test_long_names_are_the_short_ones(line: str, phase: str) -> None:
    assert parse(line.split()).phase == phase


@pytest.mark.parametrize("line", ["-o app", "-oapp", "--output-file app", "--output-file=app"])
def test_a_value_may_follow_in_each_of_nvccs_ways(line: str) -> None:
    assert parse([*line.split(), "a.cu"]).switches["-o"] == "app"


def test_x_names_the_language_of_what_follows() -> None:
    assert [source.language for source in parse(["a.cpp", "-x", "cu", "b.cpp", "c.cc"]).sources] == ["c++", "cu", "cu"]


def test_objects_and_libraries_keep_their_order() -> None:
    assert parse(["a.o", "-lfoo", "b.a", "c.so"]).link == ["a.o", "-lfoo", "b.a", "c.so"]


@pytest.mark.parametrize("standard", ["c++03", "c++11", "gnu++14"])
def test_an_older_standard_is_the_one_that_the_headers_are_written_in(
    standard: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parse([f"-std={standard}", "a.cu"]).host == ["-std=c++17"]
    assert f"-std={standard} is compiled as C++17" in capsys.readouterr().err


def test_words_for_the_linker() -> None:
    assert parse(["a.o", "-Xlinker", "-rpath=lib", "-Xcompiler", "-Wl,-z,now", "-Wl,--gc-sections"]).link == [
        "a.o",
        "-Wl,-rpath=lib",
        "-Wl,-z,now",
        "-Wl,--gc-sections",
    ]


@pytest.mark.parametrize("form", ["@{}", "-optf {}", "--options-file={}"])
def test_words_may_stand_in_a_file(tmp_path: Path, form: str) -> None:
    inner, file = tmp_path / "inner.rsp", tmp_path / "words.rsp"
    inner.write_text('-DNAME="a b"')
    file.write_text(f"-O3 @{inner} main.cu")
    words = parse(form.format(file).split())
    assert words.host == ["-O3", "-DNAME=a b"]
    assert words.sources == [Source(Path("main.cu"), "cu")]


def test_options_of_the_hosts_compiler_pass() -> None:
    assert parse(["-forward-unknown-to-host-compiler", "--coverage", "-fPIC", "-Wextra", "a.cu"]).host == [
        "--coverage",
        "-fPIC",
        "-Wextra",
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--no-such-option a.cu", "knows no such option"),
        ("-expt-relaxed-constexp a.cu", "did you mean '-expt-relaxed-constexpr'"),
        ("-optix-ir a.cu", "has no code for a GPU to write"),
        ("-o", "needs a value"),
        ("@/no/such/file", "response file /no/such/file"),
    ],
)
def test_what_cannot_be_is_said(line: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse(line.split())
