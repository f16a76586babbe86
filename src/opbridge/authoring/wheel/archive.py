"""Write the wheel file format: a zip file with metadata and a record of hashes; equal contents give equal bytes."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import re
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from opbridge._version import __version__
from opbridge.base.errors import InputError
from opbridge.base.safe_open import read_file

_EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The timestamp of every file; a wheel must not depend on when it was made."""

_REGULAR_FILE = 0o100644 << 16

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
# The canonical form of a version in PEP 440.
_VERSION = re.compile(
    r"([1-9][0-9]*!)?(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*))*((a|b|rc)(0|[1-9][0-9]*))?(\.post(0|[1-9][0-9]*))?"
    r"(\.dev(0|[1-9][0-9]*))?(\+{part}(\.{part})*)?".replace("{part}", r"(0|[1-9][0-9]*|[0-9]*[a-z][a-z0-9]*)")
)
_LICENSE = re.compile(r"[A-Za-z0-9.+:() -]+")


@dataclass(frozen=True)
class Metadata:
    """The metadata of a wheel, checked on creation: InputError reports what a package manager would refuse."""

    name: str
    version: str
    summary: str
    requires_python: str
    requires: tuple[str, ...]
    license: str | None = None
    """An SPDX expression such as "Apache-2.0 OR MIT"."""
    license_files: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InputError(f"'{self.name}' cannot name a package", hint="letters, digits, '-', '_' and '.' can")
        if not _VERSION.fullmatch(self.version):
            hint = "write it as 1.2.3, 1.2rc1, 1.2.post1, 1.2.dev3 or 1.2+local"
            raise InputError(f"'{self.version}' is not a version that package managers take", hint=hint)
        if self.license is not None and not _LICENSE.fullmatch(self.license):
            raise InputError(f"{self.license!r} is not an SPDX expression", hint='write one as in "Apache-2.0 OR MIT"')
        for path in self.license_files:
            if not path.name.isprintable():
                raise InputError(f"{path.name!r} cannot be the name of a file in a wheel", hint="rename the file")

    @property
    def stem(self) -> str:
        """The beginning of the file names: the normalized name and the version."""
        return f"{re.sub('[-_.]+', '_', self.name).lower()}-{self.version}"

    def text(self) -> str:
        """Return the contents of the METADATA file."""
        lines = [
            "Metadata-Version: 2.4",
            f"Name: {self.name}",
            f"Version: {self.version}",
            f"Summary: {self.summary}",
            *([f"License-Expression: {self.license}"] if self.license else []),
            *(f"License-File: {path.name}" for path in self.license_files),
            f"Requires-Python: {self.requires_python}",
            *(f"Requires-Dist: {requirement}" for requirement in self.requires),
        ]
        return "\n".join((*lines, ""))


def write_wheel(
    folder: Path,
    metadata: Metadata,
    tag: str,
    files: Mapping[str, bytes],
    accept: Callable[[Path], None] = lambda _: None,
) -> Path:
    """Write the wheel with these files, keyed by path below site-packages, and return its path.

    The wheel appears under its name in one step. `accept` is called with the unfinished file first; if it raises,
    no wheel is left. Raise InputError if a file cannot be read or written.
    """
    info = f"{metadata.stem}.dist-info"
    pure = "true" if tag.endswith("-any") else "false"
    contents = {
        **files,
        **{f"{info}/licenses/{path.name}": _read(path) for path in metadata.license_files},
        f"{info}/METADATA": metadata.text().encode(),
        f"{info}/WHEEL": (
            f"Wheel-Version: 1.0\nGenerator: opbridge {__version__}\nRoot-Is-Purelib: {pure}\nTag: {tag}\n"
        ).encode(),
    }
    record = f"{info}/RECORD"
    contents[record] = _record(contents, record)
    target = folder / f"{metadata.stem}-{tag}.whl"
    unfinished = folder / f".{target.name}.{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(unfinished, "w") as archive:
            # The wheel format recommends that the metadata come last.
            for name, content in sorted(contents.items(), key=lambda item: (item[0].startswith(info), item[0])):
                entry = zipfile.ZipInfo(name, _EARLIEST)
                entry.external_attr = _REGULAR_FILE
                archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
        accept(unfinished)
        unfinished.replace(target)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror}") from None
    finally:
        with suppress(OSError):
            unfinished.unlink()
    return target


def _record(contents: Mapping[str, bytes], record: str) -> bytes:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerows((name, f"sha256={_digest(content)}", len(content)) for name, content in sorted(contents.items()))
    rows.writerow((record, "", ""))
    return text.getvalue().encode()


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _read(path: Path) -> bytes:
    try:
        return read_file(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
