"""Libraries that the opbridge wheel includes, so that a first result need not wait for a compiler.

A library is used only if it was made from the same files and for the same things as a build here would be: a record
next to it has its key and the digests of the opbridge files that its compilation read.  The compiler and the folders
are not part of the key, because the machine that made the wheel has others.  The libraries run on every processor of
the architecture: `interface.BuildRequest.built_for` makes the host toolchain compile for its baseline.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from functools import cache
from pathlib import Path

from opbridge.base.safe_open import read_file
from opbridge.build.cache import Key, KeyBuilder
from opbridge.build.cache.dependencies import digest_of
from opbridge.build.toolchains.interface import PACKAGE, BuildRequest
from opbridge.build.toolchains.machine_identity import target_machine

FOLDER = PACKAGE / "prebuilt"
"""The folder in the wheel.  A clone has none, because its sources change; its builds are in the cache."""


def find(request: BuildRequest) -> Path | None:
    """Return the library that the wheel includes for a request; None if there is none that matches."""
    if request.built_for is None or not FOLDER.is_dir():
        return None
    key = _key(request)
    library = FOLDER / _name(request, key)
    return library if _matches(library, key) else None


def add(request: BuildRequest, content: bytes, inputs: Collection[Path], folder: Path) -> Path:
    """Write a library that was built for a request into a wheel's folder, with its record, and return its path there.

    `inputs` are the files that its compilation read.  Those of opbridge are recorded; the others belong to what
    `built_for` names.
    """
    key = _key(request)
    target = folder / _name(request, key)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    own = sorted({path for path in (*inputs, *request.sources) if path.is_relative_to(PACKAGE)})
    files = {path.relative_to(PACKAGE).as_posix(): digest_of(path) for path in own}
    record = {"key": key, "library": digest_of(target), "inputs": files}
    _record(target).write_text(json.dumps(record, indent=1), encoding="ascii")
    return target


def _name(request: BuildRequest, key: Key) -> str:
    """Return the place in the folder: libraries for several versions of something have folders of their own."""
    return f"{key[:12]}/{request.output}" if request.built_for else request.output


def _record(library: Path) -> Path:
    return library.with_suffix(".json")


@cache
def _matches(library: Path, key: Key) -> bool:
    try:
        record = json.loads(read_file(_record(library)))
        return (
            record["key"] == key
            and all(digest_of(PACKAGE / name) == digest for name, digest in record["inputs"].items())
            and digest_of(library) == record["library"]
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _key(request: BuildRequest) -> Key:
    key = KeyBuilder("prebuilt library").add("machine", target_machine()).add("for", *(request.built_for or ()))
    key.add("sources", *(str(source.relative_to(PACKAGE)) for source in request.sources))
    key.add("output", request.output, request.standard, request.language)
    key.add("macros", *(f"{name}={value}" for name, value in request.defines))
    return key.add("flags", *placeless(request.flags)).add("link", *placeless(request.link_flags)).key()


def placeless(flags: tuple[str, ...]) -> list[str]:
    """Return flags without folders: a linked file by its name, and no search paths."""
    return [os.path.basename(flag) if flag.startswith("/") else flag for flag in flags if not _has_folder(flag)]


def _has_folder(flag: str) -> bool:
    return ("/" in flag and not flag.startswith("/")) or "$ORIGIN" in flag
