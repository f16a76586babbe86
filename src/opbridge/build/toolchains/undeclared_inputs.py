"""Inputs of a compilation that its makefile rule lacks: headers that do not exist, and files for the assembler."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from opbridge.build.cache import Dependencies
from opbridge.build.toolchains.interface import BuildRequest
from opbridge.build.toolchains.search_folders import SearchFolders, is_opbridges, search_folders

_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
_QUOTED = re.compile(rb'^[ \t]*#[ \t]*(?:include|include_next|import)[ \t]*"([^"\n]+)"', re.MULTILINE)
_ASKED = re.compile(rb'\b__has_(?:include(?:_next)?|embed)[ \t]*\([ \t]*(?:<([^>\n]+)>|"([^"\n]+)"|([^\n]*))')
_FOR_ASSEMBLER = re.compile(rb'(?<![\w)\]>])\.inc(?:bin|lude)\b(?:[ \t]*\\?"([^"\\\n]+))?')
_DEFINED = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+__has_\w+", re.MULTILINE)


@dataclass
class _Found:
    """Paths that the compiler searched, in addition to the files that it read."""

    request: BuildRequest
    folders: SearchFolders
    files: list[Path] = field(default_factory=list)
    absent: list[Path] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    """Inputs that cannot be determined, each with its file."""

    def look(self, name: str, folders: Iterable[Path]) -> None:
        """Note where a name is looked for until it is found."""
        for folder in folders:
            path = Path(os.path.normpath(folder / name))
            if path.is_file():
                self.files.append(path)
                return
            self.absent.append(_highest_missing(path))

    def look_bracketed(self, name: str) -> None:
        self.look(name, self.folders.bracketed)

    def look_quoted(self, name: str, origin: Path) -> None:
        self.look(name, (origin.parent, *self.folders.quoted, *self.folders.bracketed))


def dependencies(request: BuildRequest, read: Sequence[Path], system: tuple[Path, ...]) -> Dependencies:
    """Return the files that shape a compilation, which has `read` some, and those that would, once they are there.

    The key of a build stands for the files of its library, but not for what may hide them.  `system` are the folders
    that the compiler searches by itself.
    """
    folders = search_folders(request, system)
    found = _Found(request, folders)
    library = f"{request.library.folder}/" if request.library else "\0"
    files: list[Path] = []
    others: list[Path] = []
    for file in read:
        (others if str(file).startswith(library) else files).append(file)
    for file in files:
        if _is_users(file, folders):
            _scan(file, found)
    absent = dict.fromkeys([*_hiding(files, folders), *_hiding_library(others, folders, library), *found.absent])
    known = (path for path in found.files if not is_opbridges(path))
    return Dependencies(
        tuple(dict.fromkeys([*files, *known])),
        tuple(path for path in absent if not os.path.lexists(path)),
        "; ".join(dict.fromkeys(found.unknown)),
    )


def _is_users(file: Path, folders: SearchFolders) -> bool:
    return not is_opbridges(file) and not any(file.is_relative_to(folder) for folder in folders.system)


def _scan(file: Path, found: _Found) -> None:
    try:
        text = _COMMENT.sub(b" ", file.read_bytes())
    except OSError:
        return  # removed meanwhile, which the cache finds too
    for quoted in _QUOTED.finditer(text):
        found.look_quoted(os.fsdecode(quoted[1]), file)
    if b"__has_" in text:
        _scan_questions(file, _DEFINED.sub(b"", text), found)
    if b".inc" in text:
        _scan_assembler(file, text, found)


def _scan_questions(file: Path, text: bytes, found: _Found) -> None:
    for bracketed, quoted, other in _ASKED.findall(text):
        if bracketed:
            found.look_bracketed(os.fsdecode(bracketed))
        elif quoted:
            found.look_quoted(os.fsdecode(quoted), file)
        elif _is_of_project(file, found):
            found.unknown.append(f"{file.name} asks __has_include({os.fsdecode(other).strip()[:40]}")


def _is_of_project(file: Path, found: _Found) -> bool:
    """Return whether a question about a file belongs to the project.

    A library's macros ask about its own headers, which come and go with the library.
    """
    return file.is_relative_to(found.request.project)


def _scan_assembler(file: Path, text: bytes, found: _Found) -> None:
    for name in _FOR_ASSEMBLER.findall(text):
        if name:
            found.look(os.fsdecode(name), (found.request.project, *found.folders.given))
        else:
            found.unknown.append(f"{file.name} has the assembler include a file whose name is not a literal")


def _hiding(files: Sequence[Path], folders: SearchFolders) -> Iterator[Path]:
    """Yield the places of headers that would be found before those that were."""
    listed = (*folders.quoted, *folders.given)
    own = folders.own
    for file in files:
        for position, folder in enumerate(listed):
            if file.is_relative_to(folder):
                yield from (_highest_missing(earlier / file.relative_to(folder)) for earlier in listed[:position])
        for folder in folders.system if own else ():
            if file.is_relative_to(folder):
                yield from (_highest_missing(earlier / file.relative_to(folder)) for earlier in own)


def _hiding_library(files: Sequence[Path], folders: SearchFolders, library: str) -> Iterator[Path]:
    """Yield the places in the user's folders of headers that would be found before those of a library."""
    own = [folder for folder in (*folders.quoted, *folders.own) if not str(folder).startswith(library)]
    roots = [str(folder) + "/" for folder in folders.given if str(folder).startswith(library)]
    names = {str(file).removeprefix(root) for root in roots for file in files if str(file).startswith(root)}
    for folder in own if names else ():
        for first in sorted({name.partition("/")[0] for name in names}):
            if not (folder / first).exists():
                yield _highest_missing(folder / first)
            else:
                yield from (_highest_missing(folder / name) for name in names if name.split("/")[0] == first)


def _highest_missing(path: Path) -> Path:
    """Return the folder that must be made first: one absent folder stands for all that could be in it."""
    while not path.parent.exists() and path.parent != path:
        path = path.parent
    return path
