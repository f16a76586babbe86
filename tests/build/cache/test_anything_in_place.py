"""Whatever comes into the place of a file of the cache, it is built again or said, and nobody waits for it."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from in_place import ANYTHING
from shared_results import SOMEBODY

from opbridge.base.errors import CacheError
from opbridge.build.cache import Cache, Dependencies, KeyBuilder

KEY = KeyBuilder("test").add("name", "a key").key()

FIXED = ("store", "building", "locks", "collected", f"locks/{KEY}", f"store/{KEY[:2]}", f"store/{KEY[:2]}/{KEY}")
NAMES = (*FIXED, "index", "entry", "entry.json", "result")


@pytest.fixture
def header(tmp_path: Path) -> Path:
    path = tmp_path / "header.h"
    path.write_text("first")
    return path


@pytest.fixture
def cache(tmp_path: Path, header: Path) -> Cache:
    cache = Cache(tmp_path / "cache")
    fetch(cache, header)
    (cache.root / "collected").touch()
    return cache


@pytest.fixture(autouse=True)
def nobody_waits() -> Iterator[None]:
    """A test that waits for somebody to write into a FIFO would wait for ever."""
    signal.alarm(60)
    yield
    signal.alarm(0)


def fetch(cache: Cache, header: Path) -> str:
    def build(folder: Path) -> Dependencies:
        (folder / "result").write_text(f"compiled {header.read_text()}")
        return Dependencies((header,))

    return (cache.fetch(KEY, build).path / "result").read_text()


def place_of(cache: Cache, name: str) -> Path:
    shelf = cache.root / "store" / KEY[:2] / KEY
    if name in FIXED:
        return cache.root / name
    (entry,) = (path for path in shelf.iterdir() if path.is_dir())
    return {"index": shelf / "index", "entry": entry}.get(name, entry / name)


def answer(use: Callable[[], object]) -> object:
    try:
        return use()
    except CacheError as error:
        return str(error)


def works_or_says_what_to_do(cache: Cache, header: Path) -> None:
    what_to_do = f"all in it can be made again: rm -rf {cache.root}"
    fetched = answer(lambda: fetch(cache, header))
    assert fetched == "compiled first" or what_to_do in str(fetched)
    for use in (cache.entries, cache.size, cache.gc, cache.clear):
        said = answer(use)
        assert not isinstance(said, str) or what_to_do in said


@pytest.mark.parametrize("put", ANYTHING)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_the_caches_is_no_obstacle_or_is_named(
    cache: Cache, header: Path, name: str, put: Callable[[Path], None]
) -> None:
    place = place_of(cache, name)
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
    put(place)
    works_or_says_what_to_do(Cache(cache.root), header)


@pytest.mark.parametrize("name", ["index", "entry.json", "result", "entry"])
@pytest.mark.parametrize("put", ANYTHING)
def test_what_is_read_is_built_again(cache: Cache, header: Path, name: str, put: Callable[[Path], None]) -> None:
    place = place_of(cache, name)
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    put(place)
    assert fetch(cache, header) == "compiled first"
    assert fetch(cache, header) == "compiled first"


@contextmanager
def as_somebody_else() -> Iterator[None]:
    """The administrator may read everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(SOMEBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("name", NAMES)
def test_what_cannot_be_read(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        folder.chmod(0o777)
        with as_somebody_else():
            header = folder / "header.h"
            header.write_text("first")
            cache = Cache(folder / "cache")
            fetch(cache, header)
            (cache.root / "collected").touch()
            place = place_of(cache, name)
            if not place.exists():
                place.touch()
            place.chmod(0)
            works_or_says_what_to_do(Cache(cache.root), header)
            with suppress(FileNotFoundError):
                place.chmod(0o700)


@pytest.mark.parametrize("put", ANYTHING)
def test_a_header_that_is_no_file_any_more(cache: Cache, header: Path, put: Callable[[Path], None]) -> None:
    header.unlink()
    put(header)

    def build(folder: Path) -> Dependencies:
        (folder / "result").write_text("compiled without it")
        return Dependencies()

    assert (cache.fetch(KEY, build).path / "result").read_text() == "compiled without it"


@pytest.mark.parametrize("put", ANYTHING)
def test_a_source_that_is_no_file(tmp_path: Path, put: Callable[[Path], None]) -> None:
    put(tmp_path / "source")
    if (tmp_path / "source").is_file():
        return
    with pytest.raises(OSError, match=r"expected a file, it is a|Too many levels of symbolic links"):
        KeyBuilder("test").add("source", tmp_path / "source")
