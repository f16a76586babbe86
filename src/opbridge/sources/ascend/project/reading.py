"""A folder becomes a project: its host functions are built, and asked what they define."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from opbridge.errors import InputError
from opbridge.openings import real_path
from opbridge.sources.ascend.project.definition import Definition, TilingStruct, definitions, tiling_structs
from opbridge.toolchains import BuildRequest, build
from opbridge.toolchains.ascend_twin import runtime
from opbridge.twins import ascend

HOST, KERNEL = "op_host", "op_kernel"

_ENTRY = ascend.INCLUDE.parent / "host" / "entry.cpp"
_OTHER_CHIPS = {"arch35"}
"""Folders of sources for chips that the twin is not."""


@dataclass(frozen=True)
class Project:
    folder: Path
    hosts: tuple[Path, ...]
    kernels: tuple[Path, ...]
    include_dirs: tuple[Path, ...]
    """For both."""

    def folders(self, name: str) -> tuple[Path, ...]:
        """The vendor's build puts the sources of all operators, and their headers, into one folder."""
        return tuple(_folders(self.folder, name))

    @cached_property
    def library(self) -> ctypes.CDLL:
        """Of the host functions."""
        library = ctypes.CDLL(str(build(self.host_request).path))
        library.ob_ascend_describe.restype = ctypes.c_char_p
        return library

    @property
    def host_request(self) -> BuildRequest:
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
        return definitions(json.loads(self.library.ob_ascend_describe()))

    @cached_property
    def structs(self) -> tuple[TilingStruct, ...]:
        return tiling_structs(json.loads(self.library.ob_ascend_describe()))

    def kernel_of(self, definition: Definition) -> Path:
        """The file that is named like the operator."""
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
    """`folder` is a project, or has several below it."""
    folder = real_path(folder)
    hosts, kernels = (_sources(folder, name) for name in (HOST, KERNEL))
    if not hosts or not kernels:
        missing = HOST if not hosts else KERNEL
        raise InputError(
            f"{folder} is no operator project: there is no C++ source in a folder {missing}",
            hint=f"name the folder that msopgen made, which has {HOST} and {KERNEL}",
        )
    # A project's own headers stand in a folder `include` of it, or of one that it is part of.
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
