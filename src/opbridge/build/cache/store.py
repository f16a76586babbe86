"""The content-addressed cache: a result is made only once from the same inputs.

A result is found in two steps. The first key is everything known before the work starts: sources, command,
compiler. Under it are the sets of files that earlier runs turned out to depend on, with their contents. The
set that matches the current files on disk identifies the result. So editing a header rebuilds, touching one
does not, and going back to an old version finds the old result.

    store/ab/<first key>/index                 the dependency sets
    store/ab/<first key>/<result key>/         one entry: files, and entry.json with the hash of each;
                                               seen.json: when large files had their hashes
    building/<first key>.<random>              work in progress of the holder of the first key's lock
    locks/<first key>
    collected                                  its time is that of the last garbage collection

Nothing is flushed to the disk. An entry's hashes are checked at every use (those of large files once in every start
of the machine), so an entry that a crash left half-written is built again. Entries appear by one rename, and a lock
dies with its process, so there is no state to repair.
"""

from __future__ import annotations

import functools
import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NewType

from opbridge._version import __version__
from opbridge.base.errors import CacheError, DiskFullError
from opbridge.base.progress import Step, step
from opbridge.base.safe_open import read_file
from opbridge.build.cache import seen_files
from opbridge.build.cache.dependencies import (
    DIGEST_BYTES,
    DependencySet,
    as_on_disk,
    dependency_set,
    digest_of,
    expanded,
    sealed,
    shortened,
    stamp,
    unsealed,
)
from opbridge.build.cache.filesystem import (
    NoFolderError,
    disk_explained,
    files_below,
    folder_of_this_process,
    folders_in,
    locked_if_free,
    names_in,
    private_folder,
    remove,
    replace_by_folder,
    set_aside,
    wait_until_free,
)

if TYPE_CHECKING:
    from logging import Logger

    from opbridge.build.cache.shared import SharedCache, SigningKey

Key = NewType("Key", str)
Places = Mapping[str, Path]
"""Folders by name whose location must not matter: files below them are recorded relative to them."""

_SETS_KEPT = 8
_NO_HOME = Path(os.devnull, "opbridge")
"""Where the cache of a user without a home would be: nothing can be there."""
_DEFAULT_BYTES = 5 << 30
# An entry handed out this recently may not be loaded yet.
_GRACE_SECONDS = 60


class KeyBuilder:
    """Hash named parts, each preceded by its length, so that ("ab", "c") and ("a", "bc") differ."""

    def __init__(self, kind: str) -> None:
        self._hash = blake2b(digest_size=DIGEST_BYTES)
        self.add("kind", kind, __version__)

    def add(self, label: str, *parts: bytes | str | Path) -> KeyBuilder:
        """Add texts and bytes as they are, and for a path the content of its file; return this builder."""
        self._frame(b"label", label.encode())
        self._frame(b"count", str(len(parts)).encode())
        for part in parts:
            if isinstance(part, Path):
                self._frame(b"file", read_file(part))
            elif isinstance(part, str):
                self._frame(b"text", part.encode("utf-8", "surrogateescape"))
            else:
                self._frame(b"bytes", part)
        return self

    def key(self) -> Key:
        """Return the key of everything added so far."""
        return Key(self._hash.hexdigest())

    def _frame(self, kind: bytes, content: bytes) -> None:
        self._hash.update(b"%s %d\n" % (kind, len(content)))
        self._hash.update(content)


@dataclass(frozen=True)
class Dependencies:
    """The files that affected a result, and files that would have affected it if they had existed."""

    files: tuple[Path, ...] = ()
    absent: tuple[Path, ...] = ()
    unknown: str = ""
    """Why more may have shaped it than can be told: such a result serves one call only."""


Build = Callable[[Path], Dependencies]
"""A function that writes the files of an entry into the given folder and returns what they were made from."""


@dataclass(frozen=True)
class CacheEntry:
    """An entry as returned by a fetch."""

    path: Path
    key: Key
    hit: bool
    seconds: float
    """How long the fetch took, including the build."""


@dataclass(frozen=True)
class StoredEntry:
    """An entry as listed by `Cache.entries`."""

    path: Path
    files: tuple[str, ...]
    bytes: int
    used: float
    """The time of the last fetch, in seconds since 1970."""


class Cache:
    """The private cache of this user in one folder."""

    def __init__(self, root: Path | None = None) -> None:
        """Open the cache in a folder, which is made where it is missing.

        If it cannot be created, the cache is empty, and only builds need another place.  Below it
        stands the shared cache that OPBRIDGE_SHARED_CACHE names, if it names one.
        """
        self._root = Path(os.path.abspath((root or _default_root()).expanduser()))
        self._is_missing = False
        try:
            private_folder(self._root)
        except NoFolderError:
            self._is_missing = True
        self._store = self._root / "store"
        self._building = self._root / "building"
        self._locks = self._root / "locks"

    @property
    def root(self) -> Path:
        """The folder; raises a CacheError where it is missing and cannot be made."""
        if self._is_missing:
            private_folder(self._root)
        return self._root

    def holds(self, path: Path) -> bool:
        """Tell whether a path lies in the cache, or in what stands in for one that takes nothing."""
        return any(path.is_relative_to(folder) for folder in (self._root, *_stand_ins))

    def step(self, what: str, patience: float | None = None) -> AbstractContextManager[None]:
        """Report what is done inside, if it takes long, next to the time that it took before."""
        return step(what, self._root) if patience is None else step(what, self._root, patience)

    def begin(self, what: str, patience: float) -> Step:
        """Return a step like that, which another caller ends."""
        return Step(what, self._root, patience)

    def fetch(self, first: Key, build: Build, places: Places | None = None, about: str = "") -> CacheEntry:
        """Return the entry for a first key, built if it is not there; of many processes that want it, one builds.

        A user who waits for the build sees what it is `about`.
        """
        started = time.perf_counter()
        roots = {name: str(folder) for name, folder in (places or {}).items()}
        with disk_explained(self._root):
            path = self._find(first, roots)
        if path is not None:
            return CacheEntry(path, Key(path.name), True, time.perf_counter() - started)
        if why := self._why_unwritable():
            return _stand_in(self._root, why).fetch(first, build, places, about)
        if self._root not in _full:
            try:
                with disk_explained(self._root):
                    path, hit = self._made(first, build, roots, about)
                    if not hit:
                        self._gc_now_and_then()
                return CacheEntry(path, Key(path.name), hit, time.perf_counter() - started)
            except DiskFullError:
                if self._root in _stand_ins:
                    raise
                _full.add(self._root)
        return _stand_in(self._root, "has no room, opbridge cache gc makes some").fetch(first, build, places, about)

    def _made(self, first: Key, build: Build, roots: Mapping[str, str], about: str) -> tuple[Path, bool]:
        """Return the entry, and whether it existed already or another process built it while this one waited."""
        for folder in (self._store, self._building, self._locks):
            replace_by_folder(folder)
        while True:
            with locked_if_free(self._locks / first) as free:
                if free:
                    path = self._find(first, roots) or self._taken(first, roots)
                    if path:
                        return path, True
                    with self._told(about):
                        return self._build(first, build, roots), False
            _log().info("waiting for the one who builds %s", first)
            with self._told(about and f"waiting for another process: {about}"):
                wait_until_free(self._locks / first)
            if path := self._find(first, roots):
                return path, True

    def _told(self, about: str) -> AbstractContextManager[None]:
        return self.step(about) if about else nullcontext()

    def find(self, first: Key, places: Places | None = None) -> CacheEntry | None:
        """Return the entry that a fetch would find without building; None if there is none."""
        started = time.perf_counter()
        with disk_explained(self._root):
            path = self._find(first, {name: str(folder) for name, folder in (places or {}).items()})
        return CacheEntry(path, Key(path.name), True, time.perf_counter() - started) if path else None

    def fetch_value(self, key: Key, make: Callable[[], bytes]) -> bytes:
        """Return a small value in place of files; where nothing can be written, it lasts as long as the process."""

        def build(folder: Path) -> Dependencies:
            (folder / "value").write_bytes(make())
            return Dependencies()

        while True:
            entry = self.find(key)
            if entry is None and self._why_unwritable():
                # Nothing is built, so there is nothing to report.
                return _values[key] if key in _values else _values.setdefault(key, make())
            path = (entry or self.fetch(key, build)).path / "value"
            # Another process may clear the cache between the two lines.
            with suppress(FileNotFoundError):
                return path.read_bytes()

    def keep(self, name: str, text: str) -> Path:
        """Store a text as a file that compilers and people can open; its path depends only on name and content."""
        return self.keep_files({name: text}) / name

    def keep_files(self, texts: Mapping[str, str]) -> Path:
        """Store several texts by file name, and return the folder that contains them."""
        key = KeyBuilder("text")
        for name, text in texts.items():
            key.add("name", name).add("text", text)

        def build(folder: Path) -> Dependencies:
            for name, text in texts.items():
                # The text may contain paths with bytes that are not valid UTF-8.
                (folder / name).write_text(text, encoding="utf-8", errors="surrogateescape")
            return Dependencies()

        return self.fetch(key.key(), build).path

    def kept(self, name: str, start: str) -> Path | None:
        """Return the file from `keep` whose key begins with `start`, which is short enough for people to copy."""
        firsts = [first for first in folders_in(self._store / start[:2]) if first.name.startswith(start)]
        files = (entry / name for first in firsts for entry in folders_in(first))
        return next((file for file in files if os.path.isfile(file)), None)

    def publish(self, entry: Path, shared: SharedCache, key: SigningKey | None = None) -> bool:
        """Copy an entry into a shared cache, signed if there is a key; return False if it already exists there.

        Raises:
            CacheError: The entry was removed, or its sources changed while it was built.
        """
        first = Key(entry.parent.name)
        record = next((known for known in _read_index(entry.parent) if known["entry"] == entry.name), None)
        if record is None or not seen_files.is_intact(entry):
            raise CacheError(f"{entry} cannot be published: it was removed, or its sources change as they are compiled")
        return shared.publish(first, record, entry, seen_files.digests_of(entry), key)

    def inputs(self, entry: CacheEntry, places: Places) -> list[Path]:
        """Return the files that an entry was made from."""
        roots = {name: str(folder) for name, folder in places.items()}
        records = [record for record in _read_index(entry.path.parent) if record["entry"] == entry.path.name]
        return [Path(expanded(file[0], roots)) for record in records for file in record["files"]]

    def entries(self) -> list[StoredEntry]:
        """Return the stored entries, the longest unused first."""
        found = []
        with disk_explained(self._root):
            for folder in (entry for first in self._first_keys() for entry in folders_in(first)):
                with suppress(FileNotFoundError):
                    files = {file.relative_to(folder).as_posix(): file.lstat().st_size for file in files_below(folder)}
                    names = tuple(name for name in files if name not in ("entry.json", seen_files.NAME))
                    found.append(StoredEntry(folder, names, sum(files.values()), _last_use(folder)))
        return sorted(found, key=lambda entry: entry.used)

    def size(self) -> int:
        """Return the number of bytes stored, including the dependency sets."""
        return sum(entry.bytes for entry in self.entries()) + sum(map(_index_bytes, self._first_keys()))

    def gc(self, max_bytes: int | None = None) -> list[StoredEntry]:
        """Remove leftovers of dead processes, then the longest unused entries; return the removed entries.

        Entries are removed until the rest fits `max_bytes`, else OPBRIDGE_CACHE_SIZE, else 5 GiB. Entries used in the
        last minute are kept.
        """
        return self._collect(_default_bytes() if max_bytes is None else max_bytes, time.time() - _GRACE_SECONDS)

    def clear(self) -> list[StoredEntry]:
        """Remove everything that no process is building right now; return the removed entries."""
        return self._collect(0, unused_since=float("inf"))

    def _find(self, first: Key, roots: Mapping[str, str]) -> Path | None:
        folder = self._folder(first)
        records = _read_index(folder)
        digests: dict[str, str] = {}
        for position, record in enumerate(records):
            current = as_on_disk(record, roots, digests)
            if current is None:
                continue
            entry = folder / record["entry"]
            if not seen_files.is_intact(entry):
                if entry.exists():
                    _log().info("the cached %s is damaged and will be built again", entry)
                return None
            with suppress(OSError):
                os.utime(entry / "entry.json")
            if current != record:
                self._remember_stamps(first, [current, *records[:position], *records[position + 1 :]])
            return entry
        return None

    def _build(self, first: Key, build: Build, roots: Mapping[str, str]) -> Path:
        folder = self._temporary(first)
        folder.mkdir(mode=0o700)
        try:
            born = folder.stat().st_ctime_ns
            dependencies = build(folder)
            record, changed = _observed(first, dependencies, roots, born)
            entry = self._settle(first, folder, record["entry"])
        finally:
            remove(folder)
        if changed:
            # It is unknown which version the compiler read, so use the result for this call only.
            _log().warning("%s changed while it was being compiled; the next build starts anew", changed)
        elif dependencies.unknown:
            _log().warning(
                "%s: its inputs are unknown, so the next build starts from the beginning", dependencies.unknown
            )
        else:
            self._remember(first, record)
        return entry

    def _taken(self, first: Key, roots: Mapping[str, str]) -> Path | None:
        """Return a copy of the entry in the shared cache; None if there is none."""
        place = os.environ.get("OPBRIDGE_SHARED_CACHE")
        if not place:
            return None
        from opbridge.build.cache.shared import SharedCache

        folder = self._temporary(first)
        folder.mkdir(mode=0o700)
        try:
            record = SharedCache(Path(place).expanduser()).take(first, roots, folder, _default_bytes())
            if record is None:
                return None
            entry = self._settle(first, folder, record["entry"])
        finally:
            remove(folder)
        self._remember(first, record)
        return entry

    def _settle(self, first: Key, folder: Path, result: str) -> Path:
        """Make finished work an entry of the cache, and return its folder."""
        hashes = {file.relative_to(folder).as_posix(): digest_of(file) for file in files_below(folder)}
        (folder / "entry.json").write_text(json.dumps({"files": hashes}), encoding="utf-8")
        entry = self._folder(first) / result
        for shelf in (entry.parent.parent, entry.parent):
            replace_by_folder(shelf)
        self._discard(entry)
        folder.rename(entry)
        return entry

    def _remember(self, first: Key, record: DependencySet) -> None:
        others = [other for other in _read_index(self._folder(first)) if other["entry"] != record["entry"]]
        self._write_index(first, [record, *others[: _SETS_KEPT - 1]])

    def _remember_stamps(self, first: Key, records: list[DependencySet]) -> None:
        """Record new stamps, so that the next fetch need not read files that were only touched.

        If the lock is taken or the disk fails, do nothing: the result is not worth waiting for.
        """
        with suppress(OSError, CacheError), locked_if_free(self._locks / first) as free:
            if free:
                self._write_index(first, records)

    def _write_index(self, first: Key, records: list[DependencySet]) -> None:
        body = json.dumps(records, separators=(",", ":")).encode()
        index, temporary = self._folder(first) / "index", self._temporary(first)
        try:
            temporary.write_bytes(sealed(body))
            if index.is_dir():
                self._discard(index)
            temporary.rename(index)
        finally:
            remove(temporary)

    def _gc_now_and_then(self) -> None:
        """Collect garbage if the last time was longer ago than the grace period.

        Entries used within that period are kept anyway, so collecting more often would be useless.
        """
        stamp = self._root / "collected"
        if not stamp.exists() or stamp.stat().st_mtime < time.time() - _GRACE_SECONDS:
            stamp.touch()
            self.gc()

    def _collect(self, max_bytes: int, unused_since: float) -> list[StoredEntry]:
        if why := self._why_unwritable():
            raise CacheError(f"the cache {self._root} {why}, so nothing can be removed from it")
        with disk_explained(self._root):
            return self._removed(max_bytes, unused_since)

    def _removed(self, max_bytes: int, unused_since: float) -> list[StoredEntry]:
        self._remove_abandoned()
        entries = self.entries()
        excess = sum(entry.bytes for entry in entries) + sum(map(_index_bytes, self._first_keys())) - max_bytes
        removed = []
        for entry in entries:
            if excess <= 0:
                break
            first = entry.path.parent
            with suppress(FileNotFoundError), locked_if_free(self._locks / first.name) as free:
                if not free or _last_use(entry.path) > unused_since:
                    continue
                self._discard(entry.path)
                removed.append(entry)
                excess -= entry.bytes
                if not folders_in(first):
                    excess -= _index_bytes(first)
                    self._discard(first)
        return removed

    def _remove_abandoned(self) -> None:
        """Remove the work of dead processes: if the lock of a key is free, no live process works on it."""
        locks, work = names_in(self._locks), names_in(self._building)
        for key in {*locks, *(name.partition(".")[0] for name in work)}:
            with locked_if_free(self._locks / key) as free:
                if free:
                    for leftover in self._building.glob(f"{key}.*"):
                        remove(leftover)

    def _discard(self, path: Path) -> None:
        first = path.name if path.parent.parent == self._store else path.parent.name
        aside = self._temporary(Key(first))
        with suppress(FileNotFoundError):
            set_aside(path, aside)
            remove(aside)

    def _why_unwritable(self) -> str:
        """Return why nothing can be added, or an empty text."""
        try:
            private_folder(self._root)
        except NoFolderError as error:
            return f"cannot be created ({error.reason})"
        return "" if os.access(self._root, os.W_OK) else "is read-only"

    def _folder(self, first: Key) -> Path:
        return self._store / first[:2] / first

    def _temporary(self, first: Key) -> Path:
        return self._building / f"{first}.{os.urandom(6).hex()}"

    def _first_keys(self) -> list[Path]:
        shelves = folders_in(self._store) if self._root.is_dir() else []
        return [first for shelf in shelves for first in folders_in(shelf)]


def _default_root() -> Path:
    """Return OPBRIDGE_CACHE_DIR, else a folder in XDG_CACHE_HOME, else in ~/.cache."""
    if chosen := os.environ.get("OPBRIDGE_CACHE_DIR"):
        return Path(chosen)
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    try:
        # The XDG specification requires relative paths to be ignored.
        return (Path(xdg) if os.path.isabs(xdg) else Path.home() / ".cache") / "opbridge"
    except RuntimeError:
        return _NO_HOME


def _default_bytes() -> int:
    text = os.environ.get("OPBRIDGE_CACHE_SIZE", "").strip()
    if not text:
        return _DEFAULT_BYTES
    number, unit = text.upper().removesuffix("B").removesuffix("I"), 1
    if number[-1:] in ("K", "M", "G", "T"):
        number, unit = number[:-1], 1024 ** (1 + "KMGT".index(number[-1]))
    try:
        return int(float(number) * unit)
    except (ValueError, OverflowError):
        raise CacheError(
            f"OPBRIDGE_CACHE_SIZE is {text!r}; expected a number of bytes or one such as 500M or 5G"
        ) from None


_full: set[Path] = set()
"""The caches whose disk this process found full."""
_stand_ins: set[Path] = set()
_values: dict[Key, bytes] = {}
"""Results of this process for caches that cannot be written."""


@functools.cache
def _stand_in(root: Path, why: str) -> Cache:
    """Return a temporary cache for this process, used instead of one that is read-only or full."""
    try:
        folder = folder_of_this_process("opbridge-")
    except OSError as error:
        raise CacheError(
            f"no place to build in: the cache {root} {why}, and so is every folder for temporary files\n"
            "  name one that can be written: export OPBRIDGE_CACHE_DIR=/a/folder/of/yours"
        ) from error
    _log().warning("the cache %s %s; missing results are built for this process only", root, why)
    stand_in = Cache(folder)
    _stand_ins.add(stand_in.root)
    return stand_in


def _read_index(folder: Path) -> list[DependencySet]:
    """Return the dependency sets, the last used first; a damaged file counts as empty."""
    try:
        value = json.loads(unsealed(read_file(folder / "index")) or b"[]")
    except (OSError, ValueError, RecursionError):
        return []
    records = map(dependency_set, value if isinstance(value, list) else [])
    return [record for record in records if record is not None]


def _observed(
    first: Key, dependencies: Dependencies, roots: Mapping[str, str], born: int
) -> tuple[DependencySet, Path | None]:
    """Return the dependency set of finished work, and a file of it that changed since the work began or None."""
    now = time.time_ns()
    files: list[list[Any]] = []
    changed = None
    for path in dict.fromkeys(dependencies.files):
        try:
            status = path.stat()
        except FileNotFoundError:
            changed = path
            continue
        if status.st_ctime_ns > born:
            changed = path
        files.append([shortened(str(path), roots), digest_of(path), *stamp(status, now)])
    absent = sorted({shortened(str(path), roots) for path in dependencies.absent})
    result = KeyBuilder("result").add("first", first).add("absent", *absent)
    for name, digest, *_ in sorted(files):
        result.add("file", name, digest)
    if changed or dependencies.unknown:
        result.add("unrepeatable", os.urandom(16))
    return {"entry": result.key(), "absent": absent, "files": files}, changed


def _last_use(entry: Path) -> float:
    return (entry / "entry.json").stat().st_mtime


def _index_bytes(first: Path) -> int:
    with suppress(FileNotFoundError):
        return (first / "index").stat().st_size
    return 0


def _log() -> Logger:
    # Import logging only when needed: a hit logs nothing, and logging is slow to import.
    import logging

    return logging.getLogger("opbridge")
