"""The data of a build request, and the protocol that every toolchain implements."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from opbridge.base.errors import BuildError
from opbridge.build.cache import Cache

PACKAGE = Path(__file__).parents[2]
"""The folder of opbridge itself."""

INCLUDE = PACKAGE / "include"
"""The folder of opbridge's own headers."""

COMPATIBLE = INCLUDE / "compat"
"""Headers for sources written for another host, under the names of that host's headers."""

VECTOR = INCLUDE / "vector"
"""Headers that replace standard ones of the same name: the functions of <cmath> in a form that loops can vectorize."""

PROFILE = "OPBRIDGE_TWIN_PROFILE"
"""The macro that a request defines to have its kernels, compiled with the twin's checks, profiled as they run.

The environment variable of this name contains the folder where a process writes its counts."""

LOG = "build.log"
"""The file next to a library that contains the compilers' messages."""


@dataclass(frozen=True)
class SlimHeaders:
    """A smaller set of a library's headers, enough for most sources and faster to compile.

    A source that compiles with them has the same meaning as with the full headers.
    A source that does not compile with them is compiled with the full headers.
    """

    include_dir: Path
    """First on the include path: headers with the library's names that include smaller ones."""
    header: Path
    """The header to include before the source, precompiled if the compiler supports that."""
    name: str
    """The file name of the precompiled header, readable for people who inspect the cache."""
    namespaces: tuple[str, ...] = ()
    """The namespaces in which only the library's own headers declare anything."""
    flags: tuple[str, ...] = ()
    """The compiler flags that the headers need; they come first in a request for the library."""
    leaves_python_to_library: bool = False
    """Whether the sources compiled with these headers are linked with native/torch_bindings."""
    worth_from: int = 1
    """The smallest number of sources in a request for which to precompile immediately.

    With fewer sources, precompile when a later request compiles other sources."""


@dataclass(frozen=True)
class InstalledLibrary:
    """A library whose headers the sources include."""

    folder: Path
    identity: tuple[str, ...]
    """Identifies the contents of the folder, which has too many files to hash each of them."""
    slim_headers: SlimHeaders | None = None
    binding_headers: SlimHeaders | None = None
    """The headers for the request's `bindings`, if those need different ones."""
    whole_headers: SlimHeaders | None = None
    """All headers, for sources that do not compile with the slim ones.

    They are used only if already precompiled: compiling one source takes less time than precompiling them."""
    before: tuple[tuple[Path, frozenset[str] | None], ...] = ()
    """The macros that each source defines before the library's header; None if the source has other code there."""


@dataclass(frozen=True)
class BuildRequest:
    """A shared library to build from sources of one language."""

    sources: tuple[Path, ...]
    output: str
    """The file name of the library, for example "scaled_add.so"."""
    include_dirs: tuple[Path, ...] = ()
    defines: tuple[tuple[str, str], ...] = ()
    flags: tuple[str, ...] = ()
    """Compiler flags, passed after all others, so they win; relative paths in them start at `root`."""
    suffix_flags: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Additional compiler flags for the sources with one suffix."""
    link_flags: tuple[str, ...] = ()
    portable: bool = False
    """Whether to build for any machine of this architecture instead of for this processor."""
    standard: str = "c++17"
    language: str = "c++"
    root: Path | None = None
    """The user's project, by default the folder of the sources. Copies of the project elsewhere share its builds."""
    library: InstalledLibrary | None = None
    bindings: tuple[Path, ...] = ()
    """The sources that only register functions with Python, which need no optimization and no checks."""
    source_flags: tuple[tuple[Path, tuple[str, ...]], ...] = ()
    """Flags for single sources, before the flags for all sources."""
    title: str = ""
    """The name of the result for users, if it is not the file's name."""
    one_of_several: bool = False
    """Whether the source is compiled separately and linked with others later."""
    built_for: tuple[str, ...] | None = None
    """For a library of opbridge itself, the other software that it fits, with versions; it may be none.

    Such a library is compiled the same way on every machine: at one level, for all processors of the architecture."""

    def __post_init__(self) -> None:
        if not self.sources:
            raise BuildError(f"nothing to build {self.output} from: expected at least one source file")
        if not self.output or os.path.basename(self.output) != self.output:
            raise BuildError(f"{self.output!r} cannot name a library: expected a file name without a folder")

    def flags_for(self, source: Path) -> tuple[str, ...]:
        """Return the compiler flags for one source in the order in which they are passed."""
        return (
            *(flag for path, flags in self.source_flags if path == source for flag in flags),
            *self.flags,
            *(flag for suffix, flags in self.suffix_flags if suffix == source.suffix for flag in flags),
        )

    @property
    def about(self) -> str:
        """What the progress message says, and how to avoid the wait for a part of opbridge itself."""
        what = f"building {self.title or self.output}"
        return what if self.built_for is None else f"{what}, once (a wheel from `make dist` includes it)"

    @property
    def project(self) -> Path:
        """The user's project folder: `root`, else the common folder of the sources; for opbridge's own, opbridge."""
        if self.built_for is not None:
            return PACKAGE
        return self.root or Path(os.path.commonpath([source.parent for source in self.sources]))


@dataclass(frozen=True)
class Command:
    """One run of a compiler or linker, in the project's folder."""

    argv: tuple[str, ...]
    about: str
    """What the command does, for progress and errors: "compiling scaled_add.cpp"."""


@dataclass(frozen=True)
class Commands:
    """The commands of one build: independent compilations, and the link that needs all of them."""

    compiles: tuple[Command, ...]
    link: Command
    depfiles: tuple[Path, ...]
    """The makefile rules that the compilations write; each names every file that was read."""
    texts: tuple[tuple[Path, str], ...] = ()
    """Files with their contents that must be written before the commands run."""
    exports: Path | None = None
    """The version script among them."""


class Toolchain(Protocol):
    """The interface of a compiler; each implementation is a module listed in TOOLCHAINS."""

    @property
    def name(self) -> str:
        """The compiler's name in messages."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The file name suffixes of its sources."""

    def find(self) -> tuple[str, ...]:
        """Return the compiler's command, which may contain arguments.

        Raises:
            ToolchainError: The compiler is not installed; the message says how to install it.
        """

    def identity(self, request: BuildRequest, cache: Cache) -> tuple[str, ...]:
        """Return everything else that affects a result: versions, processor, environment."""

    def commands(self, request: BuildRequest, folder: Path) -> Commands:
        """Return the commands that build folder/request.output.

        They write all by-products into folder/scratch. The result depends on the two arguments and the environment
        only.
        """

    def precompile(self, request: BuildRequest, header: Path, target: Path) -> Command | None:
        """Return the command that writes `target`.gch and `target`.d for the request's sources.

        The result is None if this compiler cannot precompile headers.
        """

    def macros(self) -> tuple[tuple[str, str], ...]:
        """Return the macros that the environment asks for in every kernel."""

    def companions(self) -> tuple[Path, ...]:
        """Return the libraries that a library of kernels needs next to it."""

    def sources_for_torch(self, texts: Sequence[str]) -> tuple[Path, ...]:
        """Return the sources that define what these texts call and the installed PyTorch lacks."""

    def as_edited(self, source: Path, command: Command) -> tuple[str, ...]:
        """Return the words of a compile command for the source as the user wrote it."""


@dataclass(frozen=True)
class BuiltLibrary:
    """A library in the cache, and how it got there."""

    path: Path
    seconds: float
    cached: bool
    log: str
    """The compilers' messages from when the library was built, mainly warnings."""
