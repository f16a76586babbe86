"""Folders that stand for installed toolkits: what is written, when it is written again, and whose are left alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.helpers.confinement import needs_confinement, run_in_a_view

from opbridge.base.errors import InputError
from opbridge.build.toolchains import stamped_folder


def holding(text: str) -> Callable[[Path], None]:
    return lambda new: (new / "file").write_text(text) and None


def test_it_is_written_again_for_another_stamp_alone(tmp_path: Path) -> None:
    home = stamped_folder.write(tmp_path / "deep" / "home", "one", holding("first"))
    assert (home / "file").read_text() == "first"
    stamped_folder.write(home, "one", holding("never"))
    assert (home / "file").read_text() == "first"
    stamped_folder.write(home, "two", holding("second"))
    assert (home / "file").read_text() == "second"
    assert os.listdir(home.parent) == ["home"]


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    assert (stamped_folder.write(tmp_path, "one", holding("first")) / "file").is_file()


def test_in_a_view_over_another_folder_it_is_written_again_and_the_other_stays(tmp_path: Path) -> None:
    needs_confinement()
    below = tmp_path / "below"
    home = stamped_folder.write(below / "home", "one", holding("first"))
    again = "stamped_folder.write(view / 'home', 'two', lambda new: None)"
    program = (
        f"from opbridge.build.toolchains import stamped_folder; print(sorted(path.name for path in {again}.iterdir()))"
    )
    done = run_in_a_view(below, tmp_path, program)
    assert (done.stdout, done.stderr) == ("['opbridge-twin']\n", "")
    assert (home / "file").read_text() == "first"


def test_what_fails_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    def half(new: Path) -> None:
        (new / "file").write_text("half")
        raise OSError("the disk is full")

    home = stamped_folder.write(tmp_path / "home", "one", holding("whole"))
    with pytest.raises(OSError, match="the disk is full"):
        stamped_folder.write(home, "two", half)
    assert (home / "file").read_text() == "whole"
    assert os.listdir(tmp_path) == ["home"]


THEIRS: dict[str, Callable[[Path], object]] = {
    "a file": Path.touch,
    "a folder": lambda path: (path / "mine").mkdir(parents=True),
    "a link": lambda path: path.symlink_to("nowhere"),
}


@pytest.mark.parametrize("make", THEIRS.values(), ids=THEIRS)
def test_what_is_somebody_elses_stays(make: Callable[[Path], object], tmp_path: Path) -> None:
    home = tmp_path / "home"
    make(home)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match="was not made by this command"):
        stamped_folder.write(home, "one", holding("first"))
    assert sorted(tmp_path.rglob("*")) == before


def test_another_process_may_be_quicker(tmp_path: Path) -> None:
    """What it has put there by the time ours is written is the same."""
    home = tmp_path / "home"

    def meanwhile(new: Path) -> None:
        holding("ours")(new)
        stamped_folder.write(home, "one", holding("theirs"))

    assert stamped_folder.write(home, "one", meanwhile) == home
    assert (home / "file").read_text() in ("ours", "theirs")
    assert os.listdir(tmp_path) == ["home"]


def test_a_library_with_two_names_is_one_file_where_it_can_be(tmp_path: Path) -> None:
    (library := tmp_path / "library.so").write_text("code")
    stamped_folder.add_library(library, tmp_path / "second.so")
    assert (tmp_path / "second.so").samefile(library)
