from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cache_entries import KEY, key
from subprocesses import python

from opbridge.base.errors import CacheError
from opbridge.build.cache import Cache

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="takes the rights to become another user")


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

    def test_a_place_where_no_folder_can_be_is_named_once_it_is_needed(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        cache = Cache(tmp_path / "file" / "cache")
        assert cache.fetch_value(KEY, lambda: b"value") == b"value"
        with pytest.raises(CacheError, match=r"cannot be created: a file is in its place\n  name another folder"):
            cache.root.exists()


READ_ONLY = """
# Whatever will be imported, first: the interpreter may lie where nobody can read.
import atexit, logging, os, pathlib, shutil, sys, tempfile
from opbridge.build.cache import Cache, Dependencies, KeyBuilder
os.setgroups([]); os.setgid(65534); os.setuid(65534)
logging.basicConfig(format="%(levelname)s %(message)s")
def key(name): return KeyBuilder("test").add("name", name).key()
root = pathlib.Path(sys.argv[1])
def build(folder):
    (folder / "value").write_text("made")
    return Dependencies()
for name in ("there", "new", "new", "newer"):
    made = []
    entry = Cache(root).fetch(key(name), lambda folder: made.append(1) or build(folder))
    print(name, (entry.path / "value").read_text(), "made" if made else "found")
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


NOWHERE = """
import os, sys, tempfile
from opbridge.build.cache import Cache, Dependencies, KeyBuilder
from opbridge.base.errors import CacheError
os.setgroups([]); os.setgid(65534); os.setuid(65534)
tempfile._candidate_tempdir_list = lambda: ["/"]
os.environ.pop("XDG_CACHE_HOME", None); os.environ.pop("OPBRIDGE_CACHE_DIR", None)
os.environ["HOME"] = sys.argv[1]
cache, key, made = Cache(), KeyBuilder("test").key(), []
assert [cache.fetch_value(key, lambda: made.append(1) or b"value") for _ in range(2)] == [b"value"] * 2
assert (made, cache.entries(), cache.find(key)) == ([1], [], None)
for needs_a_folder in (lambda: cache.fetch(key, lambda folder: Dependencies()), lambda: cache.root):
    try:
        needs_a_folder()
    except CacheError as error:
        print(error)
"""


@as_root
def test_where_nothing_can_be_written_only_a_build_fails(shared_path: Path) -> None:
    """As in a container with a read-only disk, where a program only calls what came ready-made."""
    for home in (shared_path / "home", Path(os.devnull)):
        said = python(NOWHERE, str(home), timeout=60)
        assert f"no place to build in: the cache {home}/.cache/opbridge cannot be created" in said.stdout, said.stderr
        assert said.stdout.count("export OPBRIDGE_CACHE_DIR=/a/folder/of/yours") == 2
        assert not said.stderr


def test_a_failed_build_says_so_where_there_is_no_cache() -> None:
    code = """
import os
import opbridge as ob
os.environ["OPBRIDGE_CACHE_DIR"] = "/proc/cache"
try:
    ob.inline("int broken", schema="t::broken(Tensor x) -> Tensor", out="x")
except ob.OpbridgeError as error:
    print(type(error).__name__, error)
"""
    assert re.match(r"BuildError broken\.cpp:1:", python(code, timeout=60).stdout)


@pytest.fixture
def shared_path() -> Iterator[Path]:
    """As tmp_path, where other users can read."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)
