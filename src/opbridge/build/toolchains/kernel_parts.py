"""Compile the parts that all kernels using opbridge/kernel.h share once, and link them instead of recompiling them.

A third of a small kernel's compile time goes to code that only runs on failure. A kernel built without
opbridge gets that code from the headers.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

from opbridge.base.errors import OpbridgeError, ToolchainError
from opbridge.build.cache import Dependencies, KeyBuilder
from opbridge.build.toolchains import host
from opbridge.build.toolchains.build_context import BuildContext
from opbridge.build.toolchains.depfiles import files_read
from opbridge.build.toolchains.interface import INCLUDE, BuildRequest

_HEADER, _GRID_HEADER = INCLUDE / "opbridge" / "kernel.h", INCLUDE / "opbridge" / "grid_parts.h"
_HERE, _LINKED = "OB_PARTS_HERE", "OB_PARTS_LINKED"
_OBJECT = "kernel_parts.o"
_PLAIN = "OB_WITHOUT_SPECIAL_FUNCTIONS"
_KERNEL = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[<\"]opbridge/kernel\.h[>\"]", re.MULTILINE)
_GRID = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[<\"]opbridge/grid\.h[>\"]", re.MULTILINE)
_FOREIGN = re.compile(rb"^[ \t]*#[ \t]*include(?![ \t]*[<\"](opbridge/|cmath\b|c?stdint\b))", re.MULTILINE)
_SPECIAL = re.compile(rb"assoc_|\bbeta|bessel|ellint|expint|hermite|laguerre|legendre|neumann|riemann_zeta")
"""The special functions in <cmath> since C++17; their definitions take an eighth of a small kernel's compile time."""


def leaves_parts(request: BuildRequest) -> bool:
    """Return whether the kernel can link the shared parts: no flag, macro or variable changes their meaning."""
    own = (request.flags, request.suffix_flags, request.source_flags, request.defines, os.environ.get("CXXFLAGS"))
    if request.language != "c++" or request.library is not None or any(own):
        return False
    return _includes(_KERNEL, request)


def _includes(header: re.Pattern[bytes], request: BuildRequest) -> bool:
    return any(header.search(source.read_bytes()) for source in request.sources)


def with_parts(request: BuildRequest, scratch: Path) -> BuildRequest:
    """Return the request changed to link the object that `place_parts` writes into the folder."""
    texts = [source.read_bytes() for source in request.sources]
    is_plain = not any(_FOREIGN.search(text) or _SPECIAL.search(text) for text in texts)
    plain = ((_PLAIN, "1"),) if is_plain else ()
    return replace(
        request,
        defines=(*request.defines, (_LINKED, "1"), *plain),
        link_flags=(str(scratch / _OBJECT), *request.link_flags),
    )


def place_parts(request: BuildRequest, context: BuildContext, scratch: Path) -> None:
    """Copy the object with the shared parts into `scratch`, from the cache or compiled now.

    Failures are only reported as progress: a kernel also compiles without the object.
    """
    header = _GRID_HEADER if _includes(_GRID, request) else _HEADER
    command = host.compile_header(request, header, Path(_OBJECT), _HERE)

    def work(folder: Path) -> Dependencies:
        outcome = context.run(command, folder, folder)
        if outcome.failed or not (folder / _OBJECT).is_file():
            raise ToolchainError(f"{command.about} failed:\n{outcome.stderr}")
        return Dependencies(tuple(files_read(folder / f"{_OBJECT}.d", folder, [folder])))

    try:
        key = KeyBuilder("parts of kernels").add("toolchain", *context.toolchain.identity(request, context.cache))
        kept = context.cache.fetch(key.add("command", *command.argv).key(), work, about=command.about).path
        shutil.copyfile(kept / _OBJECT, scratch / _OBJECT)
    except (OpbridgeError, OSError) as error:
        context.tell(f"compiling a kernel with all its parts: {error}")


def are_placed(scratch: Path) -> bool:
    """Return whether `place_parts` has written its object."""
    return (scratch / _OBJECT).is_file()
