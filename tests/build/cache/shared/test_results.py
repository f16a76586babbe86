"""One folder for many machines: what is taken from it, what is not, and what many writers do to it."""

from __future__ import annotations

import grp
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_results import KEY, compiled, published, refuses

from opbridge.base.errors import CacheError
from opbridge.build.cache import Cache, KeyBuilder
from opbridge.build.cache.dependencies import unsealed
from opbridge.build.cache.shared import SharedCache
from opbridge.build.cache.shared.trust import TRUST


class TestTaking:
    def test_another_machine_takes_what_one_published(self, tmp_path: Path, header: Path, shared: SharedCache) -> None:
        published(tmp_path, header, shared)
        cache = Cache(tmp_path / "node")
        taken = cache.fetch(KEY, refuses)
        assert taken.hit
        assert (taken.path / "nested" / "result").read_text() == "compiled first"
        shutil.rmtree(shared.root)
        assert cache.fetch(KEY, refuses).hit, "it is the machine's own from then on"

    def test_what_was_made_from_other_files_is_not_taken(
        self, tmp_path: Path, header: Path, shared: SharedCache
    ) -> None:
        published(tmp_path, header, shared)
        header.write_text("edited")
        made = Cache(tmp_path / "node").fetch(KEY, compiled(header))
        assert not made.hit
        assert (made.path / "nested" / "result").read_text() == "compiled edited"

    def test_a_file_that_was_not_there_counts(self, tmp_path: Path, header: Path, shared: SharedCache) -> None:
        published(tmp_path, header, shared)
        header.with_name("shadow.h").touch()
        assert not Cache(tmp_path / "node").fetch(KEY, compiled(header)).hit

    def test_the_set_that_fits_is_chosen(self, tmp_path: Path, header: Path, shared: SharedCache) -> None:
        published(tmp_path, header, shared)
        builder = Cache(tmp_path / "builder")
        header.write_text("second")
        assert builder.publish(builder.fetch(KEY, compiled(header)).path, shared)
        for text in ("first", "second"):
            header.write_text(text)
            taken = Cache(tmp_path / text).fetch(KEY, refuses)
            assert (taken.path / "nested" / "result").read_text() == f"compiled {text}"

    @pytest.mark.parametrize("file", ["files/nested/result", "seal"])
    def test_what_is_damaged_is_built(
        self, tmp_path: Path, header: Path, shared: SharedCache, caplog: pytest.LogCaptureFixture, file: str
    ) -> None:
        damaged = published(tmp_path, header, shared) / file
        damaged.write_bytes(damaged.read_bytes()[:-1])
        assert not Cache(tmp_path / "node").fetch(KEY, compiled(header)).hit
        assert "is damaged" in caplog.text

    @given(data=st.data())
    @settings(max_examples=30, deadline=None)
    def test_no_changed_byte_gets_through(self, data: st.DataObject) -> None:
        with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
            folder = Path(name)
            (folder / "shared").mkdir()
            (folder / "header.h").write_text("first")
            patch.setenv("OPBRIDGE_SHARED_CACHE", str(folder / "shared"))
            result = published(folder, folder / "header.h", SharedCache(folder / "shared"))
            path = data.draw(st.sampled_from([result / "seal", result / "files" / "nested" / "result"]))
            content = bytearray(path.read_bytes())
            content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
            path.write_bytes(content)
            fetched = Cache(folder / "node").fetch(KEY, compiled(folder / "header.h"))
            assert not fetched.hit
            assert (fetched.path / "nested" / "result").read_text() == "compiled first"

    def test_a_result_under_another_key_is_not_taken(self, tmp_path: Path, header: Path, shared: SharedCache) -> None:
        """Whoever may write the folders may move what a trusted user made."""
        result = published(tmp_path, header, shared)
        other = KeyBuilder("test").add("name", "another key").key()
        shelf = shared.root / other[:2] / other
        shelf.mkdir(parents=True)
        result.rename(shelf / result.name)
        assert not Cache(tmp_path / "node").fetch(other, compiled(header)).hit

    def test_a_folder_that_is_not_there_is_done_without(
        self,
        tmp_path: Path,
        header: Path,
        shared: SharedCache,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        shared.root.rmdir()
        cache = Cache(tmp_path / "node")
        for name in ("one", "two"):
            assert not cache.fetch(KeyBuilder("test").add("name", name).key(), compiled(header)).hit
        assert caplog.text.count("there is no shared cache at") == 1

    def test_nothing_is_taken_where_none_is_named(
        self, tmp_path: Path, header: Path, shared: SharedCache, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        published(tmp_path, header, shared)
        monkeypatch.delenv("OPBRIDGE_SHARED_CACHE")
        assert not Cache(tmp_path / "node").fetch(KEY, compiled(header)).hit

    def test_a_link_in_a_seals_place_harms_no_other_result(
        self, tmp_path: Path, header: Path, shared: SharedCache, caplog: pytest.LogCaptureFixture
    ) -> None:
        result = published(tmp_path, header, shared)
        (result.parent / "0").mkdir()
        (result.parent / "0" / "seal").symlink_to(result / "seal")
        assert Cache(tmp_path / "node").fetch(KEY, refuses).hit
        assert f"{result.parent / '0'} cannot be opened: expected a file, it is a link" in caplog.text


PUBLISHER = """
import pathlib, sys
from opbridge.build.cache import Cache, Dependencies, KeyBuilder
from opbridge.build.cache.shared import SharedCache
place, me = pathlib.Path(sys.argv[1]), sys.argv[2]
cache, shared = Cache(place / me), SharedCache(place / "shared")
input()  # until all are here
for name in map(str, range(10)):
    def build(folder):
        (folder / "result").write_text(name)
        return Dependencies()
    cache.publish(cache.fetch(KeyBuilder("test").add("name", name).key(), build).path, shared)
"""


class TestPublishing:
    def test_twice_is_once(self, tmp_path: Path, header: Path, shared: SharedCache) -> None:
        published(tmp_path, header, shared)
        builder = Cache(tmp_path / "builder")
        assert not builder.publish(builder.fetch(KEY, refuses).path, shared)
        assert len(list(shared.root.glob("*/*/*"))) == 1

    def test_what_was_damaged_is_published_anew(self, tmp_path: Path, header: Path, shared: SharedCache) -> None:
        result = published(tmp_path, header, shared)
        (result / "files" / "nested" / "result").write_text("damaged")
        builder = Cache(tmp_path / "builder")
        assert builder.publish(builder.fetch(KEY, refuses).path, shared)
        assert Cache(tmp_path / "node").fetch(KEY, refuses).hit

    def test_others_may_read_whatever_the_umask(self, tmp_path: Path, header: Path, shared: SharedCache) -> None:
        old = os.umask(0o077)
        try:
            result = published(tmp_path, header, SharedCache(tmp_path / "shared"))
        finally:
            os.umask(old)
        modes = {path: path.stat().st_mode & 0o777 for path in (result, *result.rglob("*"))}
        assert set(modes.values()) == {0o755, 0o644}
        assert all((mode == 0o755) == path.is_dir() for path, mode in modes.items())

    def test_who_may_add_to_the_folder_may_add_to_those_in_it(
        self, tmp_path: Path, header: Path, shared: SharedCache, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(TRUST, f"@{grp.getgrgid(shared.root.stat().st_gid).gr_name}")
        shared.root.chmod(0o3775)
        shelf = published(tmp_path, header, shared).parent
        assert {path.stat().st_mode & 0o7777 for path in (shelf, shelf.parent)} == {0o3775}

    def test_many_at_once_leave_whole_results_and_nothing_else(self, tmp_path: Path, shared: SharedCache) -> None:
        started = [
            subprocess.Popen([sys.executable, "-c", PUBLISHER, str(tmp_path), f"ci-{i}"], stdin=subprocess.PIPE)
            for i in range(4)
        ]
        for process in started:
            process.stdin.write(b"\n")  # type: ignore[union-attr]
            process.stdin.close()  # type: ignore[union-attr]
        assert [process.wait(timeout=60) for process in started] == [0] * 4
        assert not list(shared.root.glob("*/*/.*"))
        node = Cache(tmp_path / "node")
        for name in map(str, range(10)):
            taken = node.fetch(KeyBuilder("test").add("name", name).key(), refuses)
            assert (taken.path / "result").read_text() == name

    def test_what_a_killed_publisher_left_is_not_taken_and_removed_in_time(
        self, tmp_path: Path, header: Path, shared: SharedCache
    ) -> None:
        result = published(tmp_path, header, shared)
        left = result.rename(result.with_name(".left"))
        assert not Cache(tmp_path / "node").fetch(KEY, compiled(header)).hit
        builder = Cache(tmp_path / "builder")
        assert builder.publish(builder.fetch(KEY, refuses).path, shared)
        assert left.exists(), "somebody may still be writing it"
        shutil.rmtree(next(result.parent.glob("[!.]*")))
        os.utime(left, (0, 0))
        assert builder.publish(builder.fetch(KEY, refuses).path, shared)
        assert not left.exists()

    def test_no_machine_speaks_of_its_own_clock(self, tmp_path: Path, header: Path, shared: SharedCache) -> None:
        """A file elsewhere may have the size and the times of ours, and another content."""
        body = unsealed((published(tmp_path, header, shared) / "seal").read_bytes())
        assert [file[2:] for file in json.loads(body or b"")["record"]["files"]] == [[-1, 0, 0]]

    def test_a_place_that_cannot_be_written_is_named(self, tmp_path: Path, header: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(CacheError, match=r"cannot publish into the shared cache .*/file/shared"):
            published(tmp_path, header, SharedCache(tmp_path / "file" / "shared"))


def test_what_is_taken_is_said(
    tmp_path: Path, header: Path, shared: SharedCache, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "opbridge")
    result = published(tmp_path, header, shared)
    Cache(tmp_path / "node").fetch(KEY, refuses)
    assert f"took {result} from the shared cache" in caplog.text
