"""Results in a shared cache: take one that matches and can be trusted, or add one."""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opbridge.base.errors import CacheError
from opbridge.base.safe_open import open_file, opened_folder, read_file
from opbridge.build.cache.dependencies import UNKNOWN_STAMP, DependencySet, as_on_disk
from opbridge.build.cache.filesystem import FULL
from opbridge.build.cache.shared.publication import make_folder, remove_abandoned, write_result
from opbridge.build.cache.shared.publisher_keys import SigningKey, is_signed, keys_named
from opbridge.build.cache.shared.sealed_files import are_whole, copy_files
from opbridge.build.cache.shared.seals import Seal, SealedFile
from opbridge.build.cache.shared.trust import Untrusted, expect_trusted

if TYPE_CHECKING:
    from logging import Logger

_SEAL_BYTES = 16 << 20
"""Enough for a hundred thousand headers, more than any build has; a longer file is not a seal."""


@dataclass(frozen=True)
class _Result:
    path: Path
    folder: int
    seal: Seal


@dataclass(frozen=True)
class SharedCache:
    """A shared cache in one folder."""

    root: Path

    def take(self, first: str, roots: Mapping[str, str], folder: Path, max_bytes: int) -> DependencySet | None:
        """Copy the files of a result that matches the current files on disk into `folder`.

        Return its dependency set, or None if there is no such result. A shared cache that cannot be read or trusted
        only causes a warning.
        """
        digests: dict[str, str] = {}
        try:
            with self._opened(first) as shelf, closing(self._results(first, shelf, keys_named())) as results:
                for result in results:
                    current = as_on_disk(result.seal.record, roots, digests)
                    if current is not None and _taken(result, folder, max_bytes):
                        _log().info("took %s from the shared cache", result.path)
                        return current
        except FileNotFoundError:
            if not self.root.exists():
                _warn(f"there is no shared cache at {self.root}; it is done without")
        except OSError as error:
            if error.errno in FULL:
                raise
            _warn(f"the shared cache {self.root} cannot be read: {error.strerror}{self._hint()}; it is done without")
        except Untrusted as reason:
            _warn(f"the shared cache {self.root} {reason}")
        return None

    def publish(
        self, first: str, record: DependencySet, entry: Path, hashes: Mapping[str, str], key: SigningKey | None
    ) -> bool:
        """Add a result and return True; return False if it already exists.

        Raises:
            CacheError: The folder cannot be written, or other machines would not trust it.
        """
        try:
            if not self.root.is_dir():
                self.root.mkdir(parents=True, exist_ok=True)
                self.root.chmod(0o755)
            with self._opened(first, make=True) as shelf:
                return self._add(shelf, first, record, entry, hashes, key)
        except OSError as error:
            raise CacheError(
                f"cannot publish into the shared cache {self.root}: {error.strerror}: {error.filename or ''}\n"
                f"  expected a folder that this user may write, with room in it{self._hint()}"
            ) from error
        except Untrusted as reason:
            raise CacheError(
                f"no machine would use the published builds: the shared cache {self.root} {reason}"
            ) from None

    def _add(
        self,
        shelf: int,
        first: str,
        record: DependencySet,
        entry: Path,
        hashes: Mapping[str, str],
        key: SigningKey | None,
    ) -> bool:
        keys = (key.public,) if key else keys_named()
        with closing(self._results(first, shelf, keys)) as results:
            if any(
                result.seal.record["entry"] == record["entry"] and are_whole(result.path / "files", result.seal)
                for result in results
            ):
                return False
        remove_abandoned(self._place(first))
        files = [[name, digest, *UNKNOWN_STAMP] for name, digest, *_ in record["files"]]
        sealed = tuple(SealedFile(name, digest, (entry / name).stat().st_size) for name, digest in hashes.items())
        write_result(shelf, self._place(first), entry, Seal(first, {**record, "files": files}, sealed), key)
        return True

    @contextmanager
    def _opened(self, first: str, make: bool = False) -> Iterator[int]:
        """Open the folder of a first key's results, unless a stranger may write it or a folder above it."""
        with ExitStack() as opened:
            folder = opened.enter_context(opened_folder(self.root))
            expect_trusted(os.fstat(folder), "is")
            # Use the root's mode, because several users may publish into one shared cache.
            mode = stat.S_IMODE(os.fstat(folder).st_mode)
            for name in (first[:2], first):
                folder = opened.enter_context(make_folder(name, folder, mode) if make else opened_folder(name, folder))
                expect_trusted(os.fstat(folder), "has a folder that is")
            yield folder

    def _results(self, first: str, shelf: int, keys: tuple[str, ...]) -> Generator[_Result, None, None]:
        """Yield the results whose seals were written or signed by a trusted user."""
        for name in sorted(os.listdir(shelf)):
            if name.startswith("."):
                continue
            path = self._place(first) / name
            try:
                with opened_folder(name, shelf) as folder:
                    expect_trusted(os.fstat(folder), "has a result that is")
                    if (seal := _seal(path, folder, keys)) and seal.first == first:
                        yield _Result(path, folder, seal)
            except FileNotFoundError:
                pass  # removed a moment ago
            except OSError as error:
                _warn(f"{path} cannot be opened: {error.strerror}")
            except Untrusted as reason:
                _warn(f"the shared cache {self.root} {reason}")

    def _place(self, first: str) -> Path:
        return self.root / first[:2] / first

    def _hint(self) -> str:
        is_link = self.root.is_symlink()
        return f"\n  it is a link; name the folder itself: {os.path.realpath(self.root)}" if is_link else ""


def _seal(path: Path, folder: int, keys: tuple[str, ...]) -> Seal | None:
    with open(open_file("seal", folder, follow=False), "rb") as file:
        expect_trusted(os.fstat(file.fileno()), "has a seal that is")
        content = file.read(_SEAL_BYTES)
    if keys:
        try:
            signature = read_file("signature", folder, follow=False)
        except FileNotFoundError:
            signature = b""
        if not is_signed(content, signature, keys):
            raise Untrusted(f"has a result that none of the trusted keys signed, which is not used: {path}")
    if (seal := Seal.parse(content)) is None:
        _warn(f"{path / 'seal'} is damaged; its result will be built again")
    return seal


def _taken(result: _Result, folder: Path, max_bytes: int) -> bool:
    if result.seal.size > max_bytes:
        _warn(f"{result.path} has {result.seal.size} bytes, and the private cache may grow to {max_bytes}")
        return False
    try:
        copy_files(result.folder, result.seal, folder)
    except FileNotFoundError:
        return False  # removed a moment ago
    except OSError as error:
        if error.errno in FULL:
            raise  # that is the private cache's disk
        _warn(f"{result.path} cannot be copied: {error.strerror}; its contents will be built again")
        return False
    return True


@functools.cache
def _warn(text: str) -> None:
    """Log a warning once per process, because a process may look for hundreds of results."""
    _log().warning("%s", text)


def _log() -> Logger:
    # Import logging only when needed: it is slow to import.
    import logging

    return logging.getLogger("opbridge")
