from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path

import pytest
from cache_entries import A_TICK, KEY, Header, key, refuses, writes
from hypothesis import given
from hypothesis import strategies as st

from opbridge.build.cache import Cache, CacheEntry, Dependencies, Key, KeyBuilder
from opbridge.build.cache import dependencies as dependency_sets


class TestKeys:
    parts = st.lists(st.tuples(st.text(max_size=3), st.lists(st.text(max_size=4) | st.binary(max_size=4), max_size=3)))

    @given(parts, parts)
    def test_two_keys_are_equal_only_for_equal_parts(self, left: list, right: list) -> None:
        def built(parts: list) -> Key:
            builder = KeyBuilder("test")
            for label, values in parts:
                builder.add(label, *values)
            return builder.key()

        assert (built(left) == built(right)) == (left == right)

    def test_a_shifted_boundary_changes_the_key(self) -> None:
        assert KeyBuilder("t").add("flags", "ab", "c").key() != KeyBuilder("t").add("flags", "a", "bc").key()

    def test_a_path_stands_for_the_content_of_its_file(self, tmp_path: Path) -> None:
        one, other = tmp_path / "one", tmp_path / "other"
        one.write_text("same")
        other.write_text("same")
        assert KeyBuilder("t").add("f", one).key() == KeyBuilder("t").add("f", other).key()
        other.write_text("different")
        assert KeyBuilder("t").add("f", one).key() != KeyBuilder("t").add("f", other).key()


class TestFetch:
    def test_builds_once(self, cache: Cache) -> None:
        made = cache.fetch(KEY, writes("text"))
        found = cache.fetch(KEY, refuses)
        assert (made.hit, found.hit) == (False, True)
        assert made.path == found.path
        assert (found.path / "result").read_text() == "text"

    def test_another_cache_object_finds_the_same(self, cache: Cache) -> None:
        cache.fetch(KEY, writes("text"))
        assert Cache(cache.root).fetch(KEY, refuses).hit

    def test_a_value(self, cache: Cache) -> None:
        assert cache.fetch_value(KEY, lambda: b"value") == b"value"
        assert cache.fetch_value(KEY, lambda: pytest.fail("made again")) == b"value"

    def test_a_kept_text_has_a_readable_name_and_a_place_of_its_own(self, cache: Cache) -> None:
        one, other = cache.keep("kernel.cpp", "int a;"), cache.keep("kernel.cpp", "int b;")
        assert one.name == other.name == "kernel.cpp"
        assert (one.read_text(), other.read_text()) == ("int a;", "int b;")
        assert cache.keep("kernel.cpp", "int a;") == one

    def test_a_failing_build_leaves_nothing_and_is_tried_again(self, cache: Cache) -> None:
        def fails(folder: Path) -> Dependencies:
            (folder / "half").write_text("half")
            raise RuntimeError("the compiler said no")

        with pytest.raises(RuntimeError, match="said no"):
            cache.fetch(KEY, fails)
        assert cache.entries() == []
        assert list((cache.root / "building").iterdir()) == []
        assert not cache.fetch(KEY, writes("text")).hit

    def test_survives_the_removal_of_the_whole_folder(self, cache: Cache) -> None:
        cache.fetch(KEY, writes("text"))
        shutil.rmtree(cache.root)
        assert not cache.fetch(KEY, writes("text")).hit

    def test_a_build_may_fetch_other_things(self, cache: Cache) -> None:
        def build(folder: Path) -> Dependencies:
            return writes(cache.fetch_value(key("inner"), lambda: b"inner").decode())(folder)

        assert (cache.fetch(KEY, build).path / "result").read_text() == "inner"

    def test_threads_that_want_the_same_build_it_once(self, cache: Cache) -> None:
        builds = []

        def build(folder: Path) -> Dependencies:
            builds.append(folder)
            time.sleep(0.1)
            return writes("text")(folder)

        threads = [threading.Thread(target=cache.fetch, args=(KEY, build)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(builds) == 1

    def test_says_that_it_waits(self, cache: Cache, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level("INFO", "opbridge")
        started, finish = threading.Event(), threading.Event()

        def build(folder: Path) -> Dependencies:
            started.set()
            finish.wait()
            return writes("text")(folder)

        first = threading.Thread(target=cache.fetch, args=(KEY, build))
        second = threading.Thread(target=cache.fetch, args=(KEY, refuses))
        first.start()
        started.wait()
        second.start()
        while "waiting" not in caplog.text:
            time.sleep(0.01)
        finish.set()
        first.join()
        second.join()


class TestDependencies:
    def test_an_edit_builds_again(self, header: Header) -> None:
        assert header.fetch() == "first"
        header.write("second")
        assert header.fetch() == "second"
        assert header.builds == 2

    def test_going_back_to_an_old_version_finds_the_old_result(self, header: Header) -> None:
        for text in ("first", "second", "first", "second"):
            header.write(text)
            assert header.fetch() == text
        assert header.builds == 2

    def test_an_edit_that_keeps_size_and_time_is_seen(self, header: Header, monkeypatch: pytest.MonkeyPatch) -> None:
        # Files older than two seconds are trusted; a test does not wait for that.
        monkeypatch.setattr("opbridge.build.cache.dependencies._YOUNG_NS", 0)
        stamp = header.path.stat()
        header.fetch()
        time.sleep(A_TICK)
        header.path.write_text("FIRST")
        os.utime(header.path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        assert header.fetch() == "FIRST"

    def test_an_edit_within_one_tick_of_the_clock_is_seen(self, header: Header) -> None:
        for i in range(50):
            header.write(f"{i:02}")
            assert header.fetch() == f"{i:02}"

    def test_a_touch_does_not_build_again(self, header: Header) -> None:
        header.fetch()
        header.path.touch()
        assert header.entry().hit

    def test_a_touched_file_is_read_once_and_then_trusted(
        self, header: Header, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Files older than two seconds are trusted; a test does not wait for that.
        monkeypatch.setattr("opbridge.build.cache.dependencies._YOUNG_NS", 0)
        header.fetch()
        header.path.touch()
        header.fetch()
        # Leaves the result's own files out of what is read.
        monkeypatch.setattr("opbridge.build.cache.seen_files.is_intact", lambda entry: True)
        # Watches for a second reading.
        monkeypatch.setattr(
            "opbridge.build.cache.dependencies.digest_of", lambda path: pytest.fail(f"read {path} again")
        )
        assert header.entry().hit

    def test_a_removed_file_builds_again(self, header: Header) -> None:
        header.fetch()
        header.path.unlink()
        with pytest.raises(FileNotFoundError):
            header.fetch()

    def test_a_file_that_was_absent_and_now_exists_builds_again(self, cache: Cache, tmp_path: Path) -> None:
        shadow = tmp_path / "shadow.h"

        def build(folder: Path) -> Dependencies:
            writes("text")(folder)
            return Dependencies(absent=() if shadow.exists() else (shadow,))

        cache.fetch(KEY, build)
        assert cache.fetch(KEY, build).hit
        shadow.touch()
        assert not cache.fetch(KEY, build).hit

    def test_a_file_that_changes_during_the_build_is_not_believed(
        self, header: Header, caplog: pytest.LogCaptureFixture
    ) -> None:
        def build(folder: Path) -> Dependencies:
            dependencies = header.build(folder)
            time.sleep(A_TICK)
            header.write("edited while compiling")
            return dependencies

        entry = header.cache.fetch(KEY, build)
        assert (entry.path / "result").read_text() == "first"
        assert "header.h changed while it was being compiled" in caplog.text
        assert header.fetch() == "edited while compiling"

    def test_copies_of_a_project_share_results(self, cache: Cache, tmp_path: Path) -> None:
        def fetch(project: Path, text: str) -> bool:
            project.mkdir(exist_ok=True)
            (project / "util.h").write_text(text)

            def build(folder: Path) -> Dependencies:
                writes("text")(folder)
                return Dependencies((project / "util.h",))

            return cache.fetch(KEY, build, places={"project": project}).hit

        assert not fetch(tmp_path / "one", "same")
        assert fetch(tmp_path / "two", "same")
        assert not fetch(tmp_path / "two", "different")
        assert fetch(tmp_path / "one", "same")


class TestPlace:
    @pytest.fixture(autouse=True)
    def home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.delenv("OPBRIDGE_CACHE_DIR", raising=False)

    def test_below_home(self, tmp_path: Path) -> None:
        assert Cache().root == tmp_path / "home" / ".cache" / "opbridge"

    def test_xdg_goes_before_home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        assert Cache().root == tmp_path / "xdg" / "opbridge"

    def test_a_relative_xdg_is_ignored(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")
        assert Cache().root == tmp_path / "home" / ".cache" / "opbridge"

    def test_our_own_variable_goes_before_all(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        monkeypatch.setenv("OPBRIDGE_CACHE_DIR", str(tmp_path / "own"))
        assert Cache().root == tmp_path / "own"


def test_a_large_file_is_read_once_by_a_process_and_again_when_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Small slices, so that a small file has several.
    monkeypatch.setattr(dependency_sets, "_SLICE_BYTES", 1000)
    monkeypatch.setattr(dependency_sets, "_PIECE_BYTES", 500)
    monkeypatch.setattr(dependency_sets, "_YOUNG_NS", 0)
    large = tmp_path / "header.gch"
    large.write_bytes(bytes(5000))
    first = dependency_sets.digest_of(large)
    with monkeypatch.context() as patched:
        # Watches for a second reading.
        patched.setattr(dependency_sets, "_digest_of_slice", lambda path, start: pytest.fail("read again"))
        assert dependency_sets.digest_of(large) == first
    time.sleep(A_TICK)
    large.write_bytes(bytes(4999) + b"1")
    assert dependency_sets.digest_of(large) != first


def test_large_files_of_an_entry_are_read_once_by_all_processes_and_again_when_they_change(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dependency_sets, "_SLICE_BYTES", 1000)
    monkeypatch.setattr(dependency_sets, "_PIECE_BYTES", 500)
    monkeypatch.setattr(dependency_sets, "_YOUNG_NS", 0)

    def build(folder: Path) -> Dependencies:
        (folder / "header.gch").write_bytes(bytes(5000))
        return Dependencies()

    def fetched_by_another_process() -> CacheEntry:
        dependency_sets._large.clear()  # which a process remembers
        return cache.fetch(KEY, build)

    cache.fetch(KEY, build)
    entry = fetched_by_another_process()
    with monkeypatch.context() as patched:
        # Watches for a second reading.
        patched.setattr(dependency_sets, "_digest_of_slice", lambda path, start: pytest.fail("read again"))
        assert fetched_by_another_process().hit
    assert [stored.files for stored in cache.entries()] == [("header.gch",)]
    time.sleep(A_TICK)
    times = os.stat(entry.path / "header.gch")
    (entry.path / "header.gch").write_bytes(bytes(4999) + b"1")
    os.utime(entry.path / "header.gch", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert not fetched_by_another_process().hit
