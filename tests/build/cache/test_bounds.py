from __future__ import annotations

import os
import re
import threading
import time
from pathlib import Path

import pytest
from cache_entries import KEY, LONG_AGO, key, refuses, writes
from small_disk import on_a_small_disk
from tests.helpers.confinement import needs_confinement, run_in_a_view

from opbridge.base.errors import CacheError
from opbridge.build.cache import Cache, Dependencies


class TestBounds:
    @staticmethod
    def fill(cache: Cache, count: int, size: int = 1000) -> list[Path]:
        """Entries of which the first is the longest unused."""
        paths = [cache.fetch(key(i), writes("x" * size)).path for i in range(count)]
        for age, path in enumerate(reversed(paths)):
            used = time.time() - LONG_AGO - age
            os.utime(path / "entry.json", (used, used))
        return paths

    def test_the_longest_unused_go_first(self, cache: Cache) -> None:
        paths = self.fill(cache, 10)
        removed = cache.gc(cache.size() // 2)
        assert [entry.path for entry in removed] == paths[: len(removed)]
        assert [path.exists() for path in paths] == [False] * len(removed) + [True] * (10 - len(removed))
        assert len(removed) == 5

    @pytest.mark.parametrize("bound", [0, 1, 3000, 7000, 10**9])
    def test_what_stays_fits(self, cache: Cache, bound: int) -> None:
        self.fill(cache, 8)
        cache.gc(bound)
        assert cache.size() <= bound

    def test_use_counts_not_age(self, cache: Cache) -> None:
        paths = self.fill(cache, 3)
        cache.fetch(key(0), refuses)
        cache.gc(0)
        assert [path.exists() for path in paths] == [True, False, False]

    def test_what_was_just_handed_out_stays(self, cache: Cache) -> None:
        entry = cache.fetch(KEY, writes("text"))
        assert cache.gc(0) == []
        assert entry.path.exists()

    def test_runs_by_itself_when_the_bound_is_passed(self, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
        old = self.fill(cache, 5)
        monkeypatch.setenv("OPBRIDGE_CACHE_SIZE", "2K")
        os.utime(cache.root / "collected", (0, 0))
        cache.fetch(key("new"), writes("text"))
        assert [path.exists() for path in old] == [False, False, False, False, True]

    def test_a_collected_entry_is_built_again(self, cache: Cache) -> None:
        self.fill(cache, 1)
        cache.gc(0)
        assert not cache.fetch(key(0), writes("text")).hit

    def test_an_entry_whose_key_is_locked_stays(self, cache: Cache) -> None:
        (path,) = self.fill(cache, 1)
        (path / "result").write_text("damaged, so that it is built again")

        def build(folder: Path) -> Dependencies:
            assert Cache(cache.root).clear() == []
            return writes("text")(folder)

        cache.fetch(key(0), build)

    def test_clear_leaves_nothing(self, cache: Cache) -> None:
        self.fill(cache, 3)
        assert len(cache.clear()) == 3
        assert cache.size() == 0
        assert cache.entries() == []

    def test_a_view_over_another_cache_is_emptied_and_the_other_stays(self, cache: Cache, tmp_path: Path) -> None:
        needs_confinement()
        self.fill(cache, 2)
        program = "from opbridge.build.cache import Cache; print(len(Cache(view).clear()))"
        done = run_in_a_view(cache.root, tmp_path, program)
        assert (done.stdout, done.stderr) == ("2\n", "")
        assert len(cache.entries()) == 2

    def test_entries_say_what_is_there(self, cache: Cache) -> None:
        path = cache.fetch(KEY, writes("text")).path
        (entry,) = cache.entries()
        assert (entry.path, entry.files) == (path, ("result",))
        assert entry.bytes == sum(file.stat().st_size for file in path.iterdir())

    def test_work_of_the_dead_is_removed_and_of_the_living_is_not(self, cache: Cache) -> None:
        def build(folder: Path) -> Dependencies:
            dead = folder.with_name(f"{key('dead')}.0")
            dead.mkdir()
            (dead / "half").touch()
            cache.gc()
            assert folder.exists()
            assert not dead.exists()
            return writes("text")(folder)

        cache.fetch(KEY, build)
        assert list((cache.root / "building").iterdir()) == []
        assert list((cache.root / "locks").iterdir()) == []

    def test_collecting_while_others_build(self, cache: Cache) -> None:
        done = threading.Event()
        failures: list[BaseException] = []

        def clear_again_and_again() -> None:
            while not done.is_set():
                try:
                    Cache(cache.root).clear()
                except BaseException as failure:
                    failures.append(failure)

        collectors = [threading.Thread(target=clear_again_and_again) for _ in range(2)]
        for collector in collectors:
            collector.start()
        try:
            for i in range(150):
                value = str(i % 10).encode()
                assert cache.fetch_value(key(i % 10), lambda value=value: value) == value
        finally:
            done.set()
            for collector in collectors:
                collector.join()
        assert failures == []

    @pytest.mark.parametrize(
        ("text", "size"), [("1000", 1000), ("2K", 2048), ("1.5MiB", 3 << 19), ("5 GB", 5 << 30), ("", 5 << 30)]
    )
    def test_sizes(self, monkeypatch: pytest.MonkeyPatch, text: str, size: int) -> None:
        from opbridge.build.cache.store import _default_bytes

        monkeypatch.setenv("OPBRIDGE_CACHE_SIZE", text)
        assert _default_bytes() == size

    def test_a_size_that_is_none(self, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPBRIDGE_CACHE_SIZE", "plenty")
        with pytest.raises(CacheError, match=r"OPBRIDGE_CACHE_SIZE is 'plenty'; expected .* 5G"):
            cache.gc()


FULL_DISK = """
import pathlib, sys
from opbridge.build.cache import Cache, KeyBuilder
from opbridge.base.errors import DiskFullError
cache = Cache(pathlib.Path(sys.argv[1]) / "cache")
def fetch(name, size): return cache.fetch_value(KeyBuilder("test").add("name", name).key(), lambda: b"x" * size)
fetch("small", 1000)
try:
    print(len(fetch("large", 1_000_000)))
except DiskFullError as error:
    print(error)
print(len(fetch("small", -1)), len(cache.entries()), list((cache.root / "building").iterdir()))
"""


def test_what_a_full_disk_has_no_room_for_is_built_elsewhere(tmp_path: Path) -> None:
    disk, temporary = tmp_path / "disk", tmp_path / "temporary"
    disk.mkdir()
    temporary.mkdir()
    done = on_a_small_disk(FULL_DISK, disk, temporary)
    assert done.stdout == "1000000\n1000 1 []\n", done.stderr
    assert (
        done.stderr.count("has no room, opbridge cache gc makes some; missing results are built for this process") == 1
    )
    assert not list(temporary.iterdir()), "the process takes with it what it built there"


def test_a_full_disk_is_named_and_harms_nothing(tmp_path: Path) -> None:
    done = on_a_small_disk(FULL_DISK, tmp_path, temporary=tmp_path)
    assert re.match(
        r"no room for the result in the cache .*: No space left on device\n  free some: opbridge cache gc", done.stdout
    ), done.stderr
    assert done.stdout.endswith("\n1000 1 []\n")
