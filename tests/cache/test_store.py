from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_disk import on_a_small_disk
from subprocesses import python
from tests.helpers.confinement import needs_confinement

from opbridge.cache import Build, Cache, CacheEntry, Dependencies, Key, KeyBuilder
from opbridge.cache import dependencies as dependency_sets
from opbridge.errors import CacheError

KEY = KeyBuilder("test").add("name", "a key").key()
LONG_AGO = 10_000
A_TICK = 0.02
"""Longer than a tick of the disk's clock."""

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="takes the rights to become another user")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


class Header:
    """A file that a result depends on, and the work that reads it."""

    def __init__(self, path: Path, cache: Cache) -> None:
        self.path = path
        self.cache = cache
        self.builds = 0
        self.write("first")

    def write(self, text: str) -> None:
        self.path.write_text(text)

    def fetch(self) -> str:
        return (self.entry().path / "result").read_text()

    def entry(self) -> CacheEntry:
        return self.cache.fetch(KEY, self.build)

    def build(self, folder: Path) -> Dependencies:
        self.builds += 1
        (folder / "result").write_text(self.path.read_text())
        return Dependencies((self.path,))


@pytest.fixture
def header(tmp_path: Path, cache: Cache) -> Header:
    return Header(tmp_path / "header.h", cache)


def writes(text: str) -> Build:
    def build(folder: Path) -> Dependencies:
        (folder / "result").write_text(text)
        return Dependencies()

    return build


def refuses(folder: Path) -> Dependencies:
    pytest.fail("built what was in the cache")


def key(name: object) -> Key:
    return KeyBuilder("test").add("name", str(name)).key()


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
        monkeypatch.setattr("opbridge.cache.dependencies._YOUNG_NS", 0)
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
        monkeypatch.setattr("opbridge.cache.dependencies._YOUNG_NS", 0)
        header.fetch()
        header.path.touch()
        header.fetch()
        monkeypatch.setattr("opbridge.cache.store._intact", lambda entry: True)
        monkeypatch.setattr("opbridge.cache.dependencies.digest_of", lambda path: pytest.fail(f"read {path} again"))
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


def damages(content: bytes) -> Iterator[bytes | None]:
    yield None
    yield b""
    yield content[: len(content) // 2]
    yield content + b"!"
    for position in range(0, len(content), max(1, len(content) // 12)):
        yield content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :]


class TestDamage:
    @pytest.mark.parametrize("position", [0, 64 << 20, (80 << 20) - 1])
    def test_is_noticed_anywhere_in_a_large_file(self, cache: Cache, position: int) -> None:
        def build(folder: Path) -> Dependencies:
            with (folder / "large").open("wb") as file:
                file.truncate(80 << 20)
            return Dependencies()

        path = cache.fetch(KEY, build).path / "large"
        assert cache.fetch(KEY, build).hit
        with path.open("r+b") as file:
            file.seek(position)
            file.write(b"!")
        assert not cache.fetch(KEY, build).hit

    @pytest.mark.parametrize("name", ["result", "entry.json", "index"])
    def test_any_damage_builds_again_and_heals(self, header: Header, name: str) -> None:
        header.fetch()
        (path,) = (header.cache.root / "store").rglob(name)
        content = path.read_bytes()
        for damage in damages(content):
            if damage is None:
                path.unlink()
            else:
                path.write_bytes(damage)
            assert header.fetch() == "first"
            assert header.entry().hit
            assert path.exists()
            path.write_bytes(content)
        assert header.builds > 3

    def test_damage_is_logged(self, header: Header, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level("INFO", "opbridge")
        (header.entry().path / "result").write_text("not what was built")
        header.fetch()
        assert "is damaged and will be built again" in caplog.text

    def test_a_missing_entry_builds_again(self, header: Header) -> None:
        shutil.rmtree(header.entry().path)
        assert header.fetch() == "first"

    @settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(garbage=st.binary(max_size=40))
    def test_garbage_for_an_index_is_as_no_index(self, cache: Cache, garbage: bytes) -> None:
        cache.fetch_value(KEY, lambda: b"value")
        (index,) = (cache.root / "store").rglob("index")
        index.write_bytes(garbage)
        assert cache.fetch_value(KEY, lambda: b"value") == b"value"


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
        for name in ("upper", "work", "view"):
            (tmp_path / name).mkdir(mode=0o700)
        layers = f"lowerdir={cache.root},upperdir={tmp_path}/upper,workdir={tmp_path}/work,userxattr"
        view = f"Path({str(tmp_path / 'view')!r})"
        program = f"from pathlib import Path; from opbridge.cache import Cache; print(len(Cache({view}).clear()))"
        mounted = f"mount -t overlay overlay -o {layers} {tmp_path}/view"
        inside = f"{mounted} && {shlex.quote(sys.executable)} -c {shlex.quote(program)}"
        done = subprocess.run(["unshare", "-Urm", "sh", "-c", inside], capture_output=True, text=True)
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
        from opbridge.cache.store import _default_bytes

        monkeypatch.setenv("OPBRIDGE_CACHE_SIZE", text)
        assert _default_bytes() == size

    def test_a_size_that_is_none(self, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPBRIDGE_CACHE_SIZE", "plenty")
        with pytest.raises(CacheError, match=r"OPBRIDGE_CACHE_SIZE is 'plenty'; expected .* 5G"):
            cache.gc()


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


class TestTrust:
    def test_a_new_folder_is_for_its_user_alone(self, tmp_path: Path) -> None:
        old = os.umask(0)
        try:
            root = Cache(tmp_path / "cache").root
        finally:
            os.umask(old)
        assert root.stat().st_mode & 0o777 == 0o700

    @pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
    def test_a_folder_that_others_may_write_is_refused(self, tmp_path: Path, mode: int) -> None:
        root = tmp_path / "cache"
        root.mkdir()
        root.chmod(mode)
        with pytest.raises(CacheError, match=rf"mode {mode:o}.*\n.*chmod 700 {re.escape(str(root))}"):
            Cache(root)

    @as_root
    def test_a_folder_of_another_user_is_refused(self, tmp_path: Path) -> None:
        root = tmp_path / "cache"
        root.mkdir(mode=0o700)
        os.chown(root, 65534, 65534)
        with pytest.raises(CacheError, match=r"owned by user 65534.*\n.*sudo chown -hR 0 .*\n.*OPBRIDGE_CACHE_DIR"):
            Cache(root)

    @as_root
    def test_a_link_to_a_folder_of_another_user_is_refused(self, tmp_path: Path) -> None:
        foreign = tmp_path / "foreign"
        foreign.mkdir(mode=0o700)
        os.chown(foreign, 65534, 65534)
        (tmp_path / "cache").symlink_to(foreign)
        with pytest.raises(CacheError, match="owned by user 65534"):
            Cache(tmp_path / "cache")

    @as_root
    def test_a_link_made_by_another_user_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "ours").mkdir(mode=0o700)
        (tmp_path / "cache").symlink_to(tmp_path / "ours")
        os.chown(tmp_path / "cache", 65534, 65534, follow_symlinks=False)
        with pytest.raises(CacheError, match="a link made by user 65534"):
            Cache(tmp_path / "cache")

    def test_a_link_to_a_folder_of_ours_is_fine(self, tmp_path: Path) -> None:
        (tmp_path / "ours").mkdir(mode=0o700)
        (tmp_path / "cache").symlink_to(tmp_path / "ours")
        assert Cache(tmp_path / "cache").fetch_value(KEY, lambda: b"value") == b"value"

    def test_a_place_where_no_folder_can_be_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(CacheError, match=r"cannot be created: a file is in its place\n  name another folder"):
            Cache(tmp_path / "file" / "cache")


READ_ONLY = """
# Whatever will be imported, first: the interpreter may lie where nobody can read.
import atexit, logging, os, pathlib, shutil, sys, tempfile
from opbridge.cache import Cache, KeyBuilder
os.setgroups([]); os.setgid(65534); os.setuid(65534)
logging.basicConfig(format="%(levelname)s %(message)s")
def key(name): return KeyBuilder("test").add("name", name).key()
root = pathlib.Path(sys.argv[1])
for name in ("there", "new", "new", "newer"):
    made = []
    value = Cache(root).fetch_value(key(name), lambda: made.append(1) or b"made")
    print(name, value.decode(), "made" if made else "found")
"""


@as_root
def test_a_read_only_cache_still_hits_and_misses_stay_in_the_process(shared_path: Path) -> None:
    cache = Cache(shared_path / "cache")
    cache.fetch_value(key("there"), lambda: b"stored")
    for path in (cache.root, *cache.root.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    done = python(READ_ONLY, str(cache.root), timeout=60)
    assert done.stdout == "there stored found\nnew made made\nnew made found\nnewer made made\n", done.stderr
    assert done.stderr.count("\n") == 1
    assert f"WARNING the cache {cache.root} is read-only" in done.stderr
    assert len(cache.entries()) == 1


@pytest.fixture
def shared_path() -> Iterator[Path]:
    """As tmp_path, where other users can read."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


FULL_DISK = """
import pathlib, sys
from opbridge.cache import Cache, KeyBuilder
from opbridge.errors import DiskFullError
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
    assert done.stderr.count("has no room, opbridge cache gc makes some; what it lacks is built for this process") == 1
    assert not list(temporary.iterdir()), "the process takes with it what it built there"


def test_a_full_disk_is_named_and_harms_nothing(tmp_path: Path) -> None:
    done = on_a_small_disk(FULL_DISK, tmp_path, temporary=tmp_path)
    assert re.match(
        r"no room for the result in the cache .*: No space left on device\n  free some: opbridge cache gc", done.stdout
    ), done.stderr
    assert done.stdout.endswith("\n1000 1 []\n")


def test_a_large_file_is_read_once_by_a_process_and_again_when_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dependency_sets, "_SLICE_BYTES", 1000)
    monkeypatch.setattr(dependency_sets, "_PIECE_BYTES", 500)
    monkeypatch.setattr(dependency_sets, "_YOUNG_NS", 0)
    large = tmp_path / "header.gch"
    large.write_bytes(bytes(5000))
    first = dependency_sets.digest_of(large)
    with monkeypatch.context() as patched:
        patched.setattr(dependency_sets, "_digest_of_slice", lambda path, start: pytest.fail("read again"))
        assert dependency_sets.digest_of(large) == first
    time.sleep(A_TICK)
    large.write_bytes(bytes(4999) + b"1")
    assert dependency_sets.digest_of(large) != first
