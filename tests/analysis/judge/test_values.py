"""Files that an answer wrote: no more is read of them than is expected, whatever they are."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from opbridge.analysis.judge.values import Array, copy_given, load, load_as, save
from opbridge.base.errors import InputError

WANTED = Array("float32", (2,), b"12345678")


def written(path: Path, dtype: str, shape: list[int], size: int, data: bytes = b"") -> None:
    head = json.dumps({"tree": {"array": 0}, "arrays": [[dtype, shape, size]]}).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + data)


def a_hole(path: Path) -> None:
    written(path, "float32", [1], 1 << 32)
    os.truncate(path, os.path.getsize(path) + (1 << 32))


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.symlink_to(path.with_name("right")),
        lambda path: os.mkfifo(path),
        lambda path: path.mkdir(),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes((1 << 60).to_bytes(8, "little")),
        lambda path: path.write_bytes(path.with_name("right").read_bytes() + b"more"),
        lambda path: written(path, "float32", [2], 4, b"1234"),
        lambda path: written(path, "S4", [2], 8, b"12345678"),
        lambda path: written(path, "float32", [-2], -8),
        lambda path: written(path, "float32", [1 << 70], 1 << 72),
        a_hole,
    ],
)
def test_only_regular_files_of_their_declared_size_are_read(tmp_path: Path, make: Callable[[Path], object]) -> None:
    save(tmp_path / "right", WANTED)
    path = tmp_path / "0.output"
    make(path)
    for read in (load, lambda path: load_as(path, WANTED), lambda path: copy_given(path, tmp_path / "copy")):
        with pytest.raises(InputError, match=r"0.output"):
            read(path)


def test_tensors_of_other_sizes_are_named_and_not_read(tmp_path: Path) -> None:
    path = tmp_path / "0.output"
    save(path, Array("float32", (3,), b"123456789012"))
    assert load_as(path, WANTED) == Array("float32", (3,), b"")
    save(path, WANTED)
    assert load_as(path, WANTED) == WANTED


def test_what_is_given_never_lands_on_what_is_there(tmp_path: Path) -> None:
    save(tmp_path / "right", WANTED)
    (tmp_path / "victim").write_text("kept")
    (tmp_path / "0.inputs").symlink_to(tmp_path / "victim")
    with pytest.raises(InputError, match="cannot be handed over"):
        copy_given(tmp_path / "right", tmp_path / "0.inputs")
    assert (tmp_path / "victim").read_text() == "kept"
