"""The reading of a project folder: its host functions are built and called for their definitions."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from opbridge.base.errors import InputError
from opbridge.base.safe_open import real_path
from opbridge.build.toolchains import BuildRequest, build
from opbridge.twins import ascend
from opbridge.twins.ascend.projects.definition import Definition, TilingStruct, definitions, tiling_structs
from opbridge.twins.ascend.toolchain import runtime

HOST, KERNEL = "op_host", "op_kernel"

_ENTRY = ascend.INCLUDE.parent / "host" / "entry.cpp"
_OTHER_CHIPS = {"arch35"}
"""Folders of sources for chips that the twin does not simulate."""


@dataclass(frozen=True)
class Project:
    """An operator project."""

    folder: Path
    hosts: tuple[Path, ...]
    kernels: tuple[Path, ...]
    include_dirs: tuple[Path, ...]
    """The include folders of hosts and kernels."""

    def folders(self, name: str) -> tuple[Path, ...]:
        """Return the folders of this name; the vendor's build merges them with their headers into one."""
        return tuple(_folders(self.folder, name))

    @cached_property
    def library(self) -> ctypes.CDLL:
        """The library of the host functions, built on first use."""
        library = ctypes.CDLL(str(build(self.host_request).path))
        library.ob_ascend_describe.restype = ctypes.c_char_p
        return library

    @property
    def host_request(self) -> BuildRequest:
        """The build of the host functions."""
        return BuildRequest(
            sources=(*self.hosts, _ENTRY),
            output="operators_host.so",
            include_dirs=(ascend.INCLUDE, *self.include_dirs, *self.folders(HOST)),
            flags=("-DOPBRIDGE_ASCEND_OPERATOR_HOST", "-O1", "-w"),
            link_flags=ascend.link_flags(runtime()),
            root=self.folder,
        )

    @cached_property
    def definitions(self) -> tuple[Definition, ...]:
        """The operators that the project defines."""
        return definitions(json.loads(self.library.ob_ascend_describe()))

    @cached_property
    def structs(self) -> tuple[TilingStruct, ...]:
        """The tiling structs that the project defines."""
        return tiling_structs(json.loads(self.library.ob_ascend_describe()))

    def kernel_of(self, definition: Definition) -> Path:
        """Return the kernel file named like the operator.

        Raises:
            InputError: There is none, or more than one.
        """
        wanted = _plain(definition.type)
        found = [path for path in self.kernels if _plain(path.stem) == wanted]
        if len(found) == 1:
            return found[0]
        names = ", ".join(str(path.relative_to(self.folder)) for path in found or self.kernels)
        raise InputError(
            f"{definition.type}: expected one {definition.name}.cpp in a folder {KERNEL} below {self.folder}\n"
            f"  there {'are' if found else 'is none; the kernels are'} {names or 'none'}"
        )


def read_project(folder: Path, include_dirs: Iterable[Path] = ()) -> Project:
    """Return the project in a folder, which may also hold several projects below it.

    Raises:
        InputError: The folder has no host or kernel sources.
    """
    folder = real_path(folder)
    hosts, kernels = (_sources(folder, name) for name in (HOST, KERNEL))
    if not hosts or not kernels:
        missing = HOST if not hosts else KERNEL
        raise InputError(
            f"{folder} is not an operator project: there is no C++ source in a folder {missing}",
            hint=f"name the folder that msopgen made, which has {HOST} and {KERNEL}",
        )
    # A project keeps its own headers in a folder `include`, or in that of an enclosing project.
    own = (above / "include" for above in (folder, *folder.parents[:2]))
    given = (real_path(path) for path in include_dirs)
    found = dict.fromkeys((*given, folder, *(path for path in own if path.is_dir())))
    return Project(folder, hosts, kernels, tuple(found))


def _sources(folder: Path, name: str) -> tuple[Path, ...]:
    files = (file for place in _folders(folder, name) for file in sorted(place.rglob("*.cpp")))
    return tuple(file for file in files if not _OTHER_CHIPS.intersection(file.parts))


def _folders(folder: Path, name: str) -> list[Path]:
    return [folder] if folder.name == name else sorted(path for path in folder.rglob(name) if path.is_dir())


def _plain(name: str) -> str:
    return name.replace("_", "").lower()
