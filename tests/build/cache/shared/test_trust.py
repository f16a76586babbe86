"""Whose results count, seen with a second user: what they own, what they may write, and what they link to."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from shared_results import KEY, SOMEBODY, as_root, compiled, published, refuses
from subprocesses import succeed

from opbridge.base.errors import CacheError
from opbridge.build.cache import Cache
from opbridge.build.cache.shared import SharedCache
from opbridge.build.cache.shared.trust import TRUST

LEVELS = {"root": 4, "first letters": 3, "first key": 2, "result": 1, "seal": 0}
"""How far above the seal each is."""


def level(result: Path, name: str) -> Path:
    seal = result / "seal"
    return seal if LEVELS[name] == 0 else seal.parents[LEVELS[name] - 1]


@pytest.mark.parametrize("name", LEVELS)
class TestEveryStepOfTheWay:
    @as_root
    def test_is_a_trusted_users(
        self,
        tmp_path: Path,
        header: Path,
        shared: SharedCache,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        name: str,
    ) -> None:
        os.chown(level(published(tmp_path, header, shared), name), SOMEBODY, SOMEBODY)
        assert not Cache(tmp_path / "stranger").fetch(KEY, compiled(header)).hit
        assert "is user nobody's, which is not used\n" in caplog.text
        assert f"if you would run what they compile: export {TRUST}=nobody" in caplog.text
        for trusted in ("nobody", "daemon,nobody", str(SOMEBODY), "@nogroup"):
            monkeypatch.setenv(TRUST, trusted)
            assert Cache(tmp_path / trusted).fetch(KEY, refuses).hit
        monkeypatch.setenv(TRUST, "daemon @daemon")
        assert not Cache(tmp_path / "others").fetch(KEY, compiled(header)).hit

    def test_is_not_for_everybody_to_write(
        self, tmp_path: Path, header: Path, shared: SharedCache, caplog: pytest.LogCaptureFixture, name: str
    ) -> None:
        place = level(published(tmp_path, header, shared), name)
        place.chmod(0o1777 if place.is_dir() else 0o646)
        assert not Cache(tmp_path / "node").fetch(KEY, compiled(header)).hit
        assert "for everybody to write (mode" in caplog.text

    @as_root
    def test_is_for_a_group_to_write_only_if_that_is_named(
        self,
        tmp_path: Path,
        header: Path,
        shared: SharedCache,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        name: str,
    ) -> None:
        place = level(published(tmp_path, header, shared), name)
        os.chown(place, -1, SOMEBODY)
        place.chmod(0o775 if place.is_dir() else 0o664)
        assert not Cache(tmp_path / "node").fetch(KEY, compiled(header)).hit
        assert "for the group nogroup to write (mode" in caplog.text
        monkeypatch.setenv(TRUST, "@nogroup")
        assert Cache(tmp_path / "other").fetch(KEY, refuses).hit

    def test_is_there_itself_and_not_by_a_link(
        self, tmp_path: Path, header: Path, shared: SharedCache, caplog: pytest.LogCaptureFixture, name: str
    ) -> None:
        """A stranger's link may lead to what somebody trusted wrote for another purpose."""
        place = level(published(tmp_path, header, shared), name)
        place.rename(tmp_path / "elsewhere")
        place.symlink_to(tmp_path / "elsewhere")
        assert not Cache(tmp_path / "node").fetch(KEY, compiled(header)).hit
        assert caplog.text


def test_a_root_that_is_a_link_is_told_what_to_name(
    tmp_path: Path, header: Path, shared: SharedCache, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    published(tmp_path, header, shared)
    (tmp_path / "link").symlink_to(shared.root)
    monkeypatch.setenv("OPBRIDGE_SHARED_CACHE", f"{tmp_path / 'link'}/")
    assert not Cache(tmp_path / "node").fetch(KEY, compiled(header)).hit
    assert f"it is a link; name the folder itself: {shared.root}" in caplog.text
    builder = Cache(tmp_path / "builder")
    entry = builder.fetch(KEY, refuses).path
    with pytest.raises(CacheError, match="it is a link; name the folder itself"):
        builder.publish(entry, SharedCache(tmp_path / "link"))


def test_nothing_is_published_where_nobody_would_take_it(tmp_path: Path, header: Path, shared: SharedCache) -> None:
    shared.root.chmod(0o777)
    with pytest.raises(
        CacheError, match=r"no machine would use the published builds: .*mode 777.*\n  close it: chmod o-w"
    ):
        published(tmp_path, header, shared)


@as_root
def test_a_trusted_seal_answers_for_files_of_others(tmp_path: Path, header: Path, shared: SharedCache) -> None:
    result = published(tmp_path, header, shared)
    for path in (result / "files", result / "files" / "nested" / "result"):
        os.chown(path, SOMEBODY, SOMEBODY)
    assert Cache(tmp_path / "node").fetch(KEY, refuses).hit
    (result / "files" / "nested" / "result").write_text("compiled evil.")
    assert not Cache(tmp_path / "other").fetch(KEY, compiled(header)).hit


@as_root
def test_a_name_nobody_has_is_an_error(
    tmp_path: Path, header: Path, shared: SharedCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(published(tmp_path, header, shared) / "seal", SOMEBODY, SOMEBODY)
    monkeypatch.setenv(TRUST, "no-such-user")
    with pytest.raises(CacheError, match="OPBRIDGE_SHARED_CACHE_TRUST names 'no-such-user'"):
        Cache(tmp_path / "node").fetch(KEY, compiled(header))


@pytest.fixture
def open_place() -> Iterator[Path]:
    """As tmp_path, where other users can read."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        (folder / "header.h").write_text("first")
        yield folder


READER = """
# Whatever will be imported, first: the interpreter may lie where nobody can read.
import logging, os, pathlib, shutil, sys
import opbridge.build.cache.shared
from opbridge.build.cache import Cache, KeyBuilder
os.setgroups([]); os.setgid(65534); os.setuid(65534)
key = KeyBuilder("test").add("name", "a key").key()
taken = Cache(pathlib.Path(sys.argv[1])).fetch(key, lambda folder: sys.exit("built what the shared cache has"))
print((taken.path / "nested" / "result").read_text())
"""


@as_root
def test_a_user_who_may_only_read_takes_what_the_administrator_published(open_place: Path) -> None:
    published(open_place, open_place / "header.h", SharedCache(open_place / "shared"))
    environment = os.environ | {"OPBRIDGE_SHARED_CACHE": str(open_place / "shared")}
    assert succeed(READER, str(open_place / "private"), env=environment) == "compiled first\n"


STRANGER = """
import os, pathlib, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
kind, victims, shelf = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
shelf.mkdir(parents=True, exist_ok=True)
if kind == "link to the folder":
    (shelf / "planted").symlink_to(victims)
else:
    (shelf / "planted").mkdir()
    (shelf / "planted" / "files").symlink_to(victims / "files")
    os.link(victims / "seal", shelf / "planted" / "seal")
print("planted")
"""


@as_root
@pytest.mark.parametrize("kind", ["link to the folder", "hard link to the seal"])
@pytest.mark.parametrize("may_write", ["root", "shelf"])
def test_a_stranger_cannot_use_what_a_trusted_user_has_elsewhere(
    open_place: Path, monkeypatch: pytest.MonkeyPatch, kind: str, may_write: str
) -> None:
    """Such as a checkout of the stranger's own repository, in the victim's home."""
    header = open_place / "header.h"
    checkout = published(open_place, header, SharedCache(open_place / "made elsewhere")).rename(open_place / "checkout")
    # Where the kernel guards hard links, a user can link only to what they may write.
    (checkout / "seal").chmod(0o666)
    shelf = open_place / "shared" / KEY[:2] / KEY
    (shelf if may_write == "shelf" else open_place / "shared").mkdir(parents=True)
    (shelf if may_write == "shelf" else open_place / "shared").chmod(0o1777)
    assert succeed(STRANGER, kind, str(checkout), str(shelf)) == "planted\n"
    (checkout / "seal").chmod(0o644)
    monkeypatch.setenv("OPBRIDGE_SHARED_CACHE", str(open_place / "shared"))
    header_now = Cache(open_place / "node").fetch(KEY, compiled(header))
    assert not header_now.hit
    # Nor if the folders were closed since.
    for folder in (open_place / "shared", shelf.parent, shelf):
        os.chown(folder, 0, 0)
        folder.chmod(0o755)
    assert not Cache(open_place / "other").fetch(KEY, compiled(header)).hit
