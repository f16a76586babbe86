"""Operators of projects as msopgen makes them, and bindings that call them from Python, by aclnn's two phases."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from opbridge.extensions import extension
from opbridge.extensions.importing import imported
from opbridge.npu.standing_in import PACKAGE, folder
from opbridge.sources.ascend.project import Operator, read_project
from opbridge.sources.ascend.project.opapi import LIBRARY
from opbridge.sources.ascend.project.writing import LIBRARIES, write
from opbridge.toolchains import BuildRequest, build
from opbridge.toolchains.ascend_twin import runtime
from opbridge.toolchains.torch_sources import EXTENSION_NAME
from opbridge.twins import ascend

HEADERS = Path(__file__).with_name("include")
"""With pytorch_npu_helper.hpp, whose EXEC_NPU_CMD bindings call."""

OPERATORS = "OPBRIDGE_OPAPI"
"""The variable that names the library which EXEC_NPU_CMD finds operators in."""


def build_operators(project: Path, output: Path) -> None:
    """Writes what `opbridge twin op` does; bindings that are first called from now on find these operators."""
    found = read_project(project)
    operators = [Operator(found, definition) for definition in found.definitions]
    for _ in write(found, operators, output, "project"):
        pass
    os.environ[OPERATORS] = str(output / LIBRARIES / LIBRARY)


def binding(name: str, sources: Sequence[Path]) -> Any:
    """The Python module of a binding that calls them."""
    return extension(
        name,
        list(sources),
        extra_include_paths=_headers(),
        extra_ldflags=ascend.link_flags(runtime()),
        device="cpu",
    )


def launching(name: str, sources: Sequence[Path], include_dirs: Iterable[Path]) -> Any:
    """The Python module of kernels and a binding that launches them, which call each other in C++."""
    request = BuildRequest(
        sources=tuple(sources),
        output=f"{name}.so",
        include_dirs=(*include_dirs, *_headers()),
        defines=((EXTENSION_NAME, name),),
        language="ascend-twin",
    )
    return imported(name, build(request).path)


def _headers() -> tuple[Path, ...]:
    return HEADERS, folder() / PACKAGE / "include", ascend.INCLUDE
