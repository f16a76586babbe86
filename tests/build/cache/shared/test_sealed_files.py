"""What is copied is a file of the size and content that its seal says, whatever is put in its place and when."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from in_place import ANYTHING, without_end
from shared_results import KEY, as_root, compiled, published, refuses
from small_disk import on_a_small_disk

from opbridge.build.cache import Cache, Dependencies, Key, KeyBuilder
from opbridge.build.cache.shared import SharedCache, sealed_files


@pytest.mark.parametrize("put", [*ANYTHING, without_end])
@pytest.mark.parametrize("name", ["files/nested/result", "seal"])
def test_what_is_in_the_place_of_a_file_is_not_taken(
    tmp_path: Path,
    header: Path,
    shared: SharedCache,
    caplog: pytest.LogCaptureFixture,
    name: str,
    put: Callable[[Path], None],
) -> None:
    result = published(tmp_path, header, shared)
    (result / name).unlink()
    put(result / name)
    cache = Cache(tmp_path / "node")
    made = cache.fetch(KEY, compiled(header))
    assert not made.hit
    assert (made.path / "nested" / "result").read_text() == "compiled first"
    assert str(result) in caplog.text
    assert cache.size() < 10_000, "nothing of it was copied"


@as_root
def test_a_device_is_not_read(tmp_path: Path, header: Path, shared: SharedCache) -> None:
    file = published(tmp_path, header, shared) / "files" / "nested" / "result"
    file.unlink()
    try:
        os.mknod(file, 0o020644, os.makedev(1, 5))  # /dev/zero
    except PermissionError:
        pytest.skip("this machine lets nobody make a device")
    assert not Cache(tmp_path / "node").fetch(KEY, compiled(header)).hit


@pytest.mark.parametrize("name", ["files", "files/nested"])
def test_a_folder_on_the_way_is_no_link(tmp_path: Path, header: Path, shared: SharedCache, name: str) -> None:
    place = published(tmp_path, header, shared) / name
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    assert not Cache(tmp_path / "node").fetch(KEY, compiled(header)).hit


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.write_text("compiled EVIL."[: len("compiled first")]),
        lambda file: file.write_text("compiled"),
        lambda file: os.truncate(file, 1 << 40),
        lambda file: (file.unlink(), file.symlink_to("/etc/passwd")),
    ],
    ids=["other words", "cut short", "grown", "replaced"],
)
@pytest.mark.parametrize("moment", ["before it is opened", "after it was opened"])
def test_a_change_between_the_look_and_the_copy_is_noticed(
    tmp_path: Path,
    header: Path,
    shared: SharedCache,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path], object],
    moment: str,
) -> None:
    file = published(tmp_path, header, shared) / "files" / "nested" / "result"
    open_file = sealed_files.open_file

    def opened(name: str, within: int, *, follow: bool) -> int:
        if moment == "before it is opened":
            change(file)
            return open_file(name, within, follow=follow)
        descriptor = open_file(name, within, follow=follow)
        change(file)
        return descriptor

    # Changes the file between two steps of a real copy: no test can time that.
    monkeypatch.setattr(sealed_files, "open_file", opened)
    fetched = Cache(tmp_path / "node").fetch(KEY, compiled(header))
    assert (fetched.path / "nested" / "result").read_text() == "compiled first"


def test_what_grows_while_it_is_copied_is_copied_no_further(
    tmp_path: Path, header: Path, shared: SharedCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = published(tmp_path, header, shared) / "files" / "nested" / "result"
    # A small piece, so that a small file has several.
    monkeypatch.setattr(sealed_files, "_PIECE_BYTES", 4)

    def grows_when_its_size_is_known(descriptor: int) -> os.stat_result:
        status = os.fstat(descriptor)
        with file.open("a") as more:
            more.write("and more")
        return status

    # Changes the file between two steps of a real copy.
    monkeypatch.setattr(sealed_files, "os", SimpleNamespace(fstat=grows_when_its_size_is_known))
    taken = Cache(tmp_path / "node").fetch(KEY, refuses)
    assert (taken.path / "nested" / "result").read_text() == "compiled first"


def test_what_the_private_cache_has_no_room_for_by_its_bound_is_built(
    tmp_path: Path,
    header: Path,
    shared: SharedCache,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    published(tmp_path, header, shared)
    monkeypatch.setenv("OPBRIDGE_CACHE_SIZE", "13")
    assert not Cache(tmp_path / "node").fetch(KEY, compiled(header)).hit
    assert "has 14 bytes, and the private cache may grow to 13" in caplog.text
    monkeypatch.setenv("OPBRIDGE_CACHE_SIZE", "14")
    assert Cache(tmp_path / "other").fetch(KEY, refuses).hit


FULL_DISK = """
import pathlib, sys
from opbridge.build.cache import Cache, Dependencies, KeyBuilder
disk = pathlib.Path(sys.argv[1])
cache = Cache(disk / "cache")
def build(folder):
    (folder / "result").write_bytes(bytes(1_000_000))
    return Dependencies()
for name in ("published", "not published"):
    entry = cache.fetch(KeyBuilder("test").add("name", name).key(), build)
    print(entry.hit, (entry.path / "result").stat().st_size)
"""


def test_what_a_full_disk_has_no_room_for_is_taken_or_built_elsewhere(
    tmp_path: Path, shared: SharedCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(folder: Path) -> Dependencies:
        (folder / "result").write_bytes(bytes(1_000_000))
        return Dependencies()

    builder = Cache(tmp_path / "builder")
    with monkeypatch.context() as patch:
        patch.delenv("OPBRIDGE_SHARED_CACHE")
        builder.publish(builder.fetch(KeyBuilder("test").add("name", "published").key(), build).path, shared)
    for folder in (disk := tmp_path / "disk", temporary := tmp_path / "temporary"):
        folder.mkdir()
    done = on_a_small_disk(FULL_DISK, disk, temporary)
    assert done.stdout == "True 1000000\nFalse 1000000\n", done.stderr


def test_a_header_that_became_a_fifo_is_not_waited_for(tmp_path: Path, header: Path, shared: SharedCache) -> None:
    published(tmp_path, header, shared)
    header.unlink()
    os.mkfifo(header)

    def build(folder: Path) -> Dependencies:
        (folder / "result").write_text("made without it")
        return Dependencies()

    assert not Cache(tmp_path / "node").fetch(Key(KEY), build).hit
