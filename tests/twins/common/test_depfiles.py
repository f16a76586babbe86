"""The makefile rule of a rewritten source names what its user has, for as long as it is there."""

from __future__ import annotations

from pathlib import Path

from opbridge.twins.common.depfiles import add_dependencies


def test_the_users_files_stand_for_their_copies_and_with_mp_have_rules_of_their_own(tmp_path: Path) -> None:
    depfile, made = tmp_path / "a.d", tmp_path / "made"
    source, header = tmp_path / "my a.cu", tmp_path / "a.cuh"
    depfile.write_text(f"a.o: {made}/0_a.cu.cpp \\\n {made}/1_a.cuh.cpp b\\ c.h\n{made}/1_a.cuh.cpp:\nb\\ c.h:\n")
    add_dependencies(depfile, [source, header], made)
    escaped = str(source).replace(" ", "\\ ")
    assert depfile.read_text() == f"a.o: \\\n b\\ c.h \\\n {escaped} \\\n {header}\nb\\ c.h:\n{header}:\n"


def test_there_are_no_such_rules_where_the_compiler_has_written_none(tmp_path: Path) -> None:
    depfile, made = tmp_path / "a.d", tmp_path / "made"
    depfile.write_text(f"a.o: {made}/0_a.cu.cpp b.h\n")
    add_dependencies(depfile, [tmp_path / "a.cu"], made)
    assert depfile.read_text() == f"a.o: \\\n b.h \\\n {tmp_path}/a.cu\n"
