"""The prelude of CUDA sources is precompiled once for all that it fits, and no source needs it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from opbridge.twins import cuda
from opbridge.twins.cuda.nvcc import prelude

Precompiled = Callable[..., tuple[str, ...]]


@pytest.fixture
def include(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A prelude that takes no time to compile, and a cache of its own."""
    folder = tmp_path / "include"
    folder.mkdir()
    (folder / "cuda_runtime.h").write_text('#include <assert.h>\n#include "part.h"\ninline int one() { return 1; }\n')
    (folder / "part.h").write_text("const int part = 1;\n")
    # Small headers, compiled for real.
    monkeypatch.setattr(cuda, "INCLUDE", folder)
    monkeypatch.setenv("OPBRIDGE_CACHE_DIR", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def compiler(tmp_path: Path) -> Path:
    """g++, and a line in a file for each time that it is asked to precompile."""
    script = tmp_path / "g++"
    script.write_text(f'#!/bin/sh\ncase "$*" in *c++-header*) echo x >> {tmp_path}/runs;; esac\nexec g++ "$@"\n')
    script.chmod(0o755)
    return script


@pytest.fixture
def first_words(include: Path, compiler: Path, tmp_path: Path) -> Callable[..., tuple[str, ...]]:
    """The options for a source with a text, and given options."""

    def first_words(text: str, *given: str) -> tuple[str, ...]:
        (tmp_path / text).write_text(text)
        return prelude.precompiled(tmp_path / text, [str(compiler)], ["-O3", "-std=c++17", f"-isystem{include}"], given)

    return first_words


@pytest.fixture
def precompiled(first_words: Callable[..., tuple[str, ...]]) -> Precompiled:
    """The options for a second source."""

    def precompiled(*given: str) -> tuple[str, ...]:
        first_words("first", *given)
        return first_words("second", *given)

    return precompiled


def runs(compiler: Path) -> int:
    return len((compiler.parent / "runs").read_text().split())


def uses(compiler: Path, first: tuple[str, ...], source: Path, *given: str) -> bool:
    """Whether g++ takes what is precompiled for a source."""
    source.write_text("static_assert(part > 0);\nint two() { return one() + 1; }\n")
    words = ["-O3", "-std=c++17", f"-isystem{cuda.INCLUDE}", *given, "-x", "c++", *first, "-H", "-c", str(source)]
    done = subprocess.run([str(compiler), *words, "-o", f"{source}.o"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return any(line.startswith("! ") and line.endswith(".gch") for line in done.stderr.splitlines())


def test_the_first_source_never_waits_for_it(first_words: Callable[..., tuple[str, ...]], compiler: Path) -> None:
    assert [first_words("first") for _ in range(2)] == [prelude.AS_TEXT] * 2
    assert first_words("second") == first_words("first") != prelude.AS_TEXT
    assert runs(compiler) == 1


def test_it_is_made_once_for_flags_that_shape_no_header(
    precompiled: Precompiled, compiler: Path, tmp_path: Path
) -> None:
    flags = ("-O2", "-DSIZE=3", "-Iwhere", "-Wall", "-isystem", "there", "-include", "first.h")
    assert precompiled() == precompiled(*flags)
    assert runs(compiler) == 1
    assert uses(compiler, precompiled(), tmp_path / "a.cpp", *flags[:3])


SAYING = (
    *("-H", "-v", "-Q", "-pipe", "-ftime-report", "-fmem-report", "-save-temps=obj", "-fmax-errors=3"),
    *("-fdiagnostics-color=always", "-fno-diagnostics-show-caret", "-MD", "-MF", "made.d", "-MT", "made.o", "-MP"),
)


def test_flags_that_only_change_what_the_compiler_says_share_it(
    precompiled: Precompiled, compiler: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert precompiled() == precompiled(*SAYING)
    assert runs(compiler) == 1
    assert uses(compiler, precompiled(), tmp_path / "a.cpp", *SAYING)


def test_who_compile_at_a_time_wait_for_the_one_who_makes_it(precompiled: Precompiled, compiler: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = set(pool.map(lambda _: precompiled(), range(4)))
    assert len(made) == 1
    assert runs(compiler) == 1


@pytest.mark.parametrize("flag", ["-fopenmp", "-std=c++20", "-g", "-fPIC", "-march=x86-64", "-O0"])
def test_another_flag_takes_another(precompiled: Precompiled, flag: str) -> None:
    assert precompiled() != precompiled(flag)


def test_another_text_of_a_header_takes_another(precompiled: Precompiled, include: Path) -> None:
    before = precompiled()
    (include / "part.h").write_text("const int part = 2;\n")
    assert precompiled() != before


def test_another_compiler_takes_another(precompiled: Precompiled, compiler: Path) -> None:
    before = precompiled()
    compiler.write_text(compiler.read_text() + "# a new version\n")
    assert precompiled() != before


def test_a_damaged_one_is_made_again(precompiled: Precompiled, compiler: Path, tmp_path: Path) -> None:
    made = Path(f"{precompiled()[1]}.gch")
    made.write_bytes(made.read_bytes()[:1000])
    assert uses(compiler, precompiled(), tmp_path / "a.cpp")
    assert runs(compiler) == 2


def test_a_macro_that_changes_a_header_has_the_text_read(
    precompiled: Precompiled, compiler: Path, tmp_path: Path
) -> None:
    assert not uses(compiler, precompiled("-DNDEBUG"), tmp_path / "a.cpp", "-DNDEBUG")


def test_a_header_of_the_project_comes_before_the_systems(precompiled: Precompiled, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    assert precompiled(f"-I{own}") != prelude.AS_TEXT
    (own / "assert.h").write_text("")
    assert precompiled(f"-I{own}") == prelude.AS_TEXT


def test_what_cannot_be_precompiled_is_compiled_without(precompiled: Precompiled, include: Path) -> None:
    (include / "part.h").write_text("#error not today\n")
    assert precompiled() == prelude.AS_TEXT
