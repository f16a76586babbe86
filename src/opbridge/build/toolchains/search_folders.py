"""The folders in which a compiler looks for headers, in its order: a file that appears in one may hide another's."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from opbridge.base.errors import ToolchainError
from opbridge.build.cache import KeyBuilder
from opbridge.build.toolchains import host
from opbridge.build.toolchains.build_context import BuildContext
from opbridge.build.toolchains.files_in_options import expanded
from opbridge.build.toolchains.interface import INCLUDE, BuildRequest, Command
from opbridge.build.toolchains.machine_identity import compiler

_OPTION = re.compile(r"-(I|iquote|isystem|idirafter|-include-directory=?)(.*)", re.DOTALL)
_BEFORE_SYSTEM, _SYSTEM = ("CPATH",), ("C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")


@dataclass(frozen=True)
class SearchFolders:
    """Folders of headers in the order of the search, including folders that do not exist yet."""

    quoted: tuple[Path, ...]
    """For `#include "x"`, after the folder of the including file and before all others."""
    given: tuple[Path, ...]
    """Folders from flags, the request and the environment."""
    system: tuple[Path, ...]
    """Folders of the compiler."""

    @property
    def own(self) -> tuple[Path, ...]:
        """Return those given by the user, whose files come and go."""
        return tuple(folder for folder in self.given if not is_opbridges(folder))

    @property
    def bracketed(self) -> tuple[Path, ...]:
        """Return those for `#include <x>`."""
        return (*self.given, *self.system)


def is_opbridges(path: Path) -> bool:
    """Tell whether a file or folder comes with opbridge."""
    return path.is_relative_to(INCLUDE.parent)


def search_folders(request: BuildRequest, system: tuple[Path, ...]) -> SearchFolders:
    """Return the folders of all sources of a request together; `system` are those that the compiler knows itself."""
    words = expanded([*host.environment_words("CXXFLAGS"), *_include_dirs(request), *_flags(request)], request.project)
    found: dict[str, list[Path]] = {"I": [], "iquote": [], "isystem": [], "idirafter": []}
    for kind, folder in _named(words):
        found[kind].append(request.project / folder)
    given = (
        *found["I"],
        *_of_environment(_BEFORE_SYSTEM, request.project),
        *found["isystem"],
        *_of_environment(_SYSTEM, request.project),
    )
    beside = (source.parent for source in request.sources)
    quoted = tuple(dict.fromkeys((*beside, *found["iquote"])))
    return SearchFolders(quoted, tuple(dict.fromkeys(given)), (*system, *found["idirafter"]))


def _include_dirs(request: BuildRequest) -> Iterator[str]:
    return (f"-I{folder}" for folder in request.include_dirs)


def _flags(request: BuildRequest) -> list[str]:
    return list(dict.fromkeys(flag for source in request.sources for flag in _joined(request.flags_for(source))))


def _joined(flags: Sequence[str]) -> Iterator[str]:
    """Write `-I folder` as one word, so that equal words of several sources are one."""
    words = iter(flags)
    for word in words:
        option = _OPTION.fullmatch(word)
        yield word if option is None or option[2] else word + next(words, "")


def _named(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    for word in _joined(words):
        if (option := _OPTION.fullmatch(word)) and option[2]:
            yield option[1] if option[1][0] != "-" else "I", option[2].lstrip("=")


def _of_environment(variables: Sequence[str], project: Path) -> Iterator[Path]:
    for variable in variables:
        if value := os.environ.get(variable):
            # An empty name stands for the current folder.
            yield from (project / name for name in value.split(os.pathsep))


def system_folders(context: BuildContext, folder: Path) -> tuple[Path, ...]:
    """Ask the host's compiler for the folders that it knows itself, once for each compiler; it runs in `folder`."""
    try:
        found = host.find()
    except ToolchainError:
        return ()  # CANN's compiler needs no other
    unset = (word for variable in (*_BEFORE_SYSTEM, *_SYSTEM) for word in ("-u", variable))
    command = Command(("env", *unset, *found, "-xc++", "-E", "-v", os.devnull), "asking for folders of headers")

    def ask() -> bytes:
        return context.compilers.run(command, folder, folder, lambda: None).stderr.encode()

    key = KeyBuilder("system folders").add("compiler", compiler(found, context.cache))
    said = context.cache.fetch_value(key.key(), ask).decode()
    listed = said.partition("#include <...> search starts here:")[2].partition("End of search list")[0]
    return tuple(Path(os.path.normpath(line.strip())) for line in listed.splitlines() if line.strip())
