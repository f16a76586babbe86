"""What a build is asked for, and what every toolchain offers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from opbridge.cache import Cache
from opbridge.errors import BuildError

INCLUDE = Path(__file__).parents[1] / "include"
"""The folder of opbridge's own headers."""

COMPATIBLE = INCLUDE / "compat"
"""Headers that sources written for another host include by that host's names."""

VECTOR = INCLUDE / "vector"
"""Headers of the standard library's names, before it: the functions of <cmath> as loops want them."""

PROFILE = "OPBRIDGE_TWIN_PROFILE"
"""The macro of a request whose kernels, with a twin's checks, are to be profiled as they run; and the variable that
names the folder where a process leaves what it has counted."""

LOG = "build.log"
"""The file beside a library that holds what its compilers said."""


@dataclass(frozen=True)
class SlimHeaders:
    """A shorter way through a library's headers, for sources that need no more of them than most do.

    A source that compiles with it means what it meant without it; one that does not is compiled without it.
    """

    include_dir: Path
    """Stands first on the include path, with headers of the library's names that include smaller ones."""
    header: Path
    """The one of them to read before the source, precompiled where the compiler can."""
    name: str
    """Of the precompiled header, for whoever looks into the cache."""
    namespaces: tuple[str, ...] = ()
    """Those that only the library's own headers declare anything in."""
    flags: tuple[str, ...] = ()
    """What the headers need of the compiler; a request for the library has them first."""
    leaves_python_to_library: bool = False
    """Whether what is compiled with them is linked with native/torch_bindings."""
    worth_from: int = 1
    """For how many sources at a time they are precompiled at once; for fewer, not until others come."""


@dataclass(frozen=True)
class InstalledLibrary:
    """A library whose headers the sources include."""

    folder: Path
    identity: tuple[str, ...]
    """Stands for all files in the folder, which are too many to look at each."""
    slim_headers: SlimHeaders | None = None
    binding_headers: SlimHeaders | None = None
    """Those of the request's `bindings`, where they need others."""
    whole_headers: SlimHeaders | None = None
    """All of them, for sources that slim ones are too slim for: used where they were precompiled, but not made for one
    source, which is compiled in less time."""
    before: tuple[tuple[Path, frozenset[str] | None], ...] = ()
    """The macros that single sources define before the library's header; None where more than macros stands there."""


@dataclass(frozen=True)
class BuildRequest:
    """One shared library, from sources of one language."""

    sources: tuple[Path, ...]
    output: str
    """The file name of the library, as in "scaled_add.so"."""
    include_dirs: tuple[Path, ...] = ()
    defines: tuple[tuple[str, str], ...] = ()
    flags: tuple[str, ...] = ()
    """For the compiler, after all others, so they win; relative paths in them start at `root`."""
    suffix_flags: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """More of them, for the sources of one suffix alone."""
    link_flags: tuple[str, ...] = ()
    portable: bool = False
    """For any machine of this architecture, not for the processor at hand."""
    standard: str = "c++17"
    language: str = "c++"
    root: Path | None = None
    """The user's project, by default the folder of the sources: its copies elsewhere share what is built."""
    library: InstalledLibrary | None = None
    bindings: tuple[Path, ...] = ()
    """Those of the sources that only tell Python of functions: nothing in them is worth optimizing or watching."""
    source_flags: tuple[tuple[Path, tuple[str, ...]], ...] = ()
    """What single sources have before all others' flags."""
    title: str = ""
    """What users know the result by, where that is not its file's name."""
    one_of_several: bool = False
    """Whether the source is compiled by itself, to be linked with others."""

    def __post_init__(self) -> None:
        if not self.sources:
            raise BuildError(f"nothing to build {self.output} from: expected at least one source file")
        if not self.output or os.path.basename(self.output) != self.output:
            raise BuildError(f"{self.output!r} cannot name a library: expected a file name without a folder")

    def flags_for(self, source: Path) -> tuple[str, ...]:
        return (
            *(flag for path, flags in self.source_flags if path == source for flag in flags),
            *self.flags,
            *(flag for suffix, flags in self.suffix_flags if suffix == source.suffix for flag in flags),
        )

    @property
    def about(self) -> str:
        """What users are told they wait for."""
        return f"building {self.title or self.output}"

    @property
    def project(self) -> Path:
        return self.root or Path(os.path.commonpath([source.parent for source in self.sources]))


@dataclass(frozen=True)
class Command:
    """One run of a compiler or linker, in the project's folder."""

    argv: tuple[str, ...]
    about: str
    """What it does, for progress and errors: "compiling scaled_add.cpp"."""


@dataclass(frozen=True)
class Commands:
    """The compilations are independent of each other; the link needs all of them."""

    compiles: tuple[Command, ...]
    link: Command
    depfiles: tuple[Path, ...]
    """The makefile rules that the compilations write, naming every file they read."""
    texts: tuple[tuple[Path, str], ...] = ()
    """Files that the commands need beside the sources."""
    exports: Path | None = None
    """The version script among them."""


class Toolchain(Protocol):
    """One compiler; each is a module, listed in TOOLCHAINS."""

    @property
    def name(self) -> str: ...

    @property
    def suffixes(self) -> tuple[str, ...]:
        """What its sources' names end in."""

    def find(self) -> tuple[str, ...]:
        """The compiler's command, which may hold arguments, or a ToolchainError that says how to get one."""

    def identity(self, request: BuildRequest, cache: Cache) -> tuple[str, ...]:
        """Everything beside the commands and the files that shapes a result: versions, processor, environment."""

    def commands(self, request: BuildRequest, folder: Path) -> Commands:
        """Builds folder/request.output, with all by-products in folder/scratch; depends on nothing else."""

    def precompile(self, request: BuildRequest, header: Path, target: Path) -> Command | None:
        """Writes `target`.gch and `target`.d, for the sources of the request; None: this compiler cannot."""


@dataclass(frozen=True)
class BuiltLibrary:
    path: Path
    seconds: float
    cached: bool
    log: str
    """What the compilers said when the library was built, warnings above all."""
