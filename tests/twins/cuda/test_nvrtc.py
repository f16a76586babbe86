"""NVRTC: kernels compiled while a C++ program runs, by names, with headers and options, and errors by their lines"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from opbridge.build.cache import Cache
from opbridge.twins.cuda import nvcc as twin_nvcc

SOURCE = Path(__file__).parent / "driver" / "nvrtc.cpp"
Say = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def say(tmp_path_factory: pytest.TempPathFactory) -> Say:
    folder = tmp_path_factory.mktemp("nvrtc")
    nvcc = twin_nvcc.write(Cache().root / "cuda") / "bin" / "nvcc"
    made = subprocess.run(
        [nvcc, "-g", str(SOURCE), "-o", "program", "-lnvrtc", "-lcuda"], cwd=folder, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([folder / "program", *words], cwd=folder, capture_output=True, text=True, timeout=300)

    return run


@pytest.mark.cases(1)
def test_a_program_with_a_header_and_options_becomes_kernels_and_variables(say: Say) -> None:
    done = say("scale")
    assert done.stdout.split() == ["[]", "0", "3.5"], done.stderr


def test_a_report_names_the_line_of_the_program(say: Say) -> None:
    done = say("beyond")
    assert done.stdout.split()[:2] == ["[]", "700"]
    assert "scale: read of 4 bytes out of bounds" in done.stderr
    assert "where   scale.cu:6, thread (100, 0, 0) of block (0, 0, 0)" in done.stderr


def test_templates_and_variables_are_found_by_their_names(say: Say) -> None:
    assert say("names").stdout.splitlines() == [
        "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
        "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
        "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
        *("_ZN7numbers5raiseIfLi4EEEvPT_", "_ZN7numbers4lastE", "_Z5plainPi"),
        *("6", "4"),
    ]


def test_errors_are_in_the_log_by_the_program_s_name_and_lines(say: Say) -> None:
    said = say("mistakes").stdout
    assert [line for line in said.splitlines() if line.startswith("NVRTC_ERROR")] == [
        *("NVRTC_ERROR_COMPILATION", "NVRTC_ERROR_INVALID_PROGRAM", "NVRTC_ERROR_INVALID_OPTION"),
        *("NVRTC_ERROR_INVALID_PROGRAM", "NVRTC_ERROR_INVALID_INPUT", "NVRTC_ERROR_COMPILATION"),
    ]
    assert "folder/wrong.cu:2:8: error: " in said
    assert "--no-such-option: the CUDA twin knows no such option" in said


def test_it_says_what_it_is(say: Say) -> None:
    assert say("facts").stdout == "12.8 80 std::vector<int, std::allocator<int> > const*\n"


def test_what_was_compiled_before_comes_from_the_cache(say: Say) -> None:
    first, again, other = (say("image", f"-DVALUE={value}").stdout for value in (1, 1, 2))
    assert first == again != other
