"""A library of the wheel is used where a build from the same files would give the same, and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from opbridge.build.cache import Cache
from opbridge.build.toolchains import BuildRequest, build, host, interface, prebuilt

HEADER = "inline int answer_of(int x) { return x; }\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the place of the installed opbridge, with a source, a header and no compiler."""
    folder = tmp_path / "package"
    (folder / "own").mkdir(parents=True)
    (folder / "own" / "answer.h").write_text(HEADER)
    (folder / "own" / "answer.cpp").write_text(
        '#include "answer.h"\nextern "C" int answer() { return answer_of(4); }\n'
    )
    monkeypatch.setattr(prebuilt, "PACKAGE", folder)
    monkeypatch.setattr(interface, "PACKAGE", folder)
    monkeypatch.setattr(prebuilt, "FOLDER", folder / "prebuilt")
    monkeypatch.setenv("PATH", "")
    prebuilt._matches.cache_clear()
    return folder


@pytest.fixture
def wanted(package: Path) -> BuildRequest:
    flags = (f"-isystem{package}/other", "-Wextra")
    return BuildRequest((package / "own" / "answer.cpp",), "answer.so", flags=flags, built_for=("torch", "2.13.0"))


@pytest.fixture
def included(wanted: BuildRequest, package: Path) -> Path:
    """The library of the request, made on a machine with other system headers."""
    inputs = [package / "own" / "answer.h", Path("/usr/include/of/another/machine.h")]
    return prebuilt.add(wanted, b"the library", inputs, package / "prebuilt")


def test_it_is_used_without_a_compiler(wanted: BuildRequest, included: Path, tmp_path: Path) -> None:
    assert build(wanted, Cache(tmp_path / "cache")).path == included
    assert included.read_bytes() == b"the library"


def test_the_folders_of_the_machine_that_made_it_do_not_matter(wanted: BuildRequest, included: Path) -> None:
    assert prebuilt.find(replace(wanted, flags=("-isystem/elsewhere/include", "-Wextra"))) == included


@pytest.mark.parametrize(
    "change",
    [
        lambda wanted: replace(wanted, built_for=("torch", "2.13.1")),
        lambda wanted: replace(wanted, flags=(*wanted.flags, "-DOTHER")),
        lambda wanted: replace(wanted, defines=(("OTHER", "1"),)),
        lambda wanted: replace(wanted, link_flags=("/a/folder/libother.so",)),
        lambda wanted: replace(wanted, built_for=None),
    ],
    ids=["another version", "another flag", "another macro", "another library", "a library of a user"],
)
def test_a_request_for_something_else_does_not_find_it(
    wanted: BuildRequest, included: Path, change: Callable[[BuildRequest], BuildRequest]
) -> None:
    assert prebuilt.find(wanted) == included
    assert prebuilt.find(change(wanted)) is None


@pytest.mark.parametrize("name", ["own/answer.h", "own/answer.cpp"])
def test_a_changed_source_or_header_does_not_match(
    wanted: BuildRequest, included: Path, package: Path, name: str
) -> None:
    (package / name).write_text("// changed\n")
    assert prebuilt.find(wanted) is None


@pytest.mark.parametrize("content", [b"", b"the librarx"], ids=["cut short", "damaged"])
def test_a_damaged_library_is_not_used(wanted: BuildRequest, included: Path, content: bytes) -> None:
    included.write_bytes(content)
    assert prebuilt.find(wanted) is None


def test_who_waits_for_it_is_told_how_to_avoid_that(wanted: BuildRequest) -> None:
    assert wanted.about == "building answer.so, once (a wheel from `make dist` includes it)"
    assert replace(wanted, built_for=None).about == "building answer.so"


def test_a_record_that_is_none_is_no_record(wanted: BuildRequest, included: Path) -> None:
    included.with_suffix(".json").write_text("[]")
    assert prebuilt.find(wanted) is None


def test_another_kind_of_processor_never_loads_it(
    wanted: BuildRequest, included: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine="riscv64"))
    assert prebuilt.find(wanted) is None


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the baseline of x86-64")
def test_what_is_included_runs_on_every_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-march=native")
    monkeypatch.setenv("OPBRIDGE_OPTIMIZE", "1")
    source = interface.PACKAGE / "native" / "jax" / "handler.cpp"
    words = host.commands(BuildRequest((source,), "answer.so", built_for=()), Path("/build")).compiles[0].argv
    assert [word for word in words if word.startswith("-march")][-1] == "-march=x86-64"
    assert [word for word in words if word.startswith("-O")] == ["-O2"]
