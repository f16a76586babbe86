"""Compile the parts that all kernels using opbridge/kernel.h share once, and link them instead of recompiling them.

Half of a small kernel's compile time goes to the checks of its call, which are the same for all kernels. A kernel built
without opbridge gets that code from the headers. The wheel includes the parts.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

from opbridge.base.errors import OpbridgeError, ToolchainError
from opbridge.build.cache import Dependencies, KeyBuilder
from opbridge.build.toolchains import host, prebuilt
from opbridge.build.toolchains.build_context import BuildContext
from opbridge.build.toolchains.build_plan import BuildPlan
from opbridge.build.toolchains.depfiles import files_read
from opbridge.build.toolchains.interface import INCLUDE, BuildRequest, Command

_HEADER, _GRID_HEADER = INCLUDE / "opbridge" / "kernel.h", INCLUDE / "opbridge" / "grid_parts.h"
_HERE, _LINKED = "OB_PARTS_HERE", "OB_PARTS_LINKED"
_OBJECT = "kernel_parts.o"
_PLAIN, _NO_MATH = "OB_WITHOUT_SPECIAL_FUNCTIONS", "OB_WITHOUT_MATH"
_KERNEL = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[<\"]opbridge/kernel\.h[>\"]", re.MULTILINE)
_GRID = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[<\"]opbridge/grid\.h[>\"]", re.MULTILINE)
_FOREIGN = re.compile(rb"^[ \t]*#[ \t]*include(?![ \t]*[<\"](opbridge/|cmath\b|c?stdint\b))", re.MULTILINE)
_SPECIAL = re.compile(rb"assoc_|\bbeta|bessel|ellint|expint|hermite|laguerre|legendre|neumann|riemann_zeta")
"""The special functions in <cmath> since C++17; their definitions take an eighth of a small kernel's compile time."""
_MATH = re.compile(
    rb"\b(math|detail|rsqrt|sigmoid|pow|atan2|hypot|cbrt|erfc?|exp2?|expm1|log(2|10|1p)?|a?(sin|cos|tan)h?)\b"
)
"""The names of opbridge/math.h, which takes a sixth of a small kernel's compile time."""
_LINKERS = ("gold", "lld")
"""Linkers that take a third of the time that the default one takes to read the C++ library."""


def with_parts(plan: BuildPlan, scratch: Path) -> BuildPlan:
    """Return the plan changed to link the object that `place_parts` writes into the folder, if the kernel can."""
    request = plan.request
    if not _leaves_parts(request):
        return plan
    variant = replace(
        request,
        defines=(*request.defines, (_LINKED, "1"), *((macro, "1") for macro in _left_out(request))),
        link_flags=(str(scratch / _OBJECT), *_linker(request), *request.link_flags),
    )
    return replace(plan, variant=variant, parts=_GRID_HEADER if _includes(_GRID, request) else _HEADER)


def _leaves_parts(request: BuildRequest) -> bool:
    """Return whether the kernel can link the shared parts: no flag, macro or variable changes their meaning."""
    own = (request.flags, request.suffix_flags, request.source_flags, request.defines, os.environ.get("CXXFLAGS"))
    if request.language != "c++" or request.library is not None or any(own):
        return False
    return _includes(_KERNEL, request)


def _includes(header: re.Pattern[bytes], request: BuildRequest) -> bool:
    return any(header.search(source.read_bytes()) for source in request.sources)


def _left_out(request: BuildRequest) -> list[str]:
    """Return the macros that leave out the parts of headers whose names the sources do not mention."""
    texts = [source.read_bytes() for source in request.sources]
    if any(_FOREIGN.search(text) for text in texts):
        return []
    parts = ((_PLAIN, _SPECIAL), (_NO_MATH, _MATH))
    return [macro for macro, names in parts if not any(names.search(text) for text in texts)]


def _linker(request: BuildRequest) -> tuple[str, ...]:
    """Return the option for a fast linker, unless the user chooses the linker or links something."""
    if request.link_flags or os.environ.get("LDFLAGS"):
        return ()
    return next(((f"-fuse-ld={name}",) for name in _LINKERS if shutil.which(f"ld.{name}")), ())


def requests() -> list[BuildRequest]:
    """Return the parts that a wheel includes, as requests for their objects."""
    return [_request(header) for header in (_HEADER, _GRID_HEADER)]


def _request(header: Path) -> BuildRequest:
    return BuildRequest((header,), f"{header.stem}.o", defines=((_HERE, ""),), built_for=())


def place_parts(plan: BuildPlan, context: BuildContext, scratch: Path) -> None:
    """Copy the object with the plan's shared parts into `scratch`, from the wheel, from the cache, or compiled now.

    Failures are only reported as progress: a kernel also compiles without the object.
    """
    if plan.parts is None:
        return
    try:
        kept = prebuilt.find(_request(plan.parts)) or compiled_parts(plan.parts, plan.request, context)[0]
        shutil.copyfile(kept, scratch / _OBJECT)
    except (OpbridgeError, OSError) as error:
        context.tell(f"compiling a kernel with all its parts: {error}")


def compiled_parts(header: Path, request: BuildRequest, context: BuildContext) -> tuple[Path, list[Path]]:
    """Return the object that this compiler makes for such requests, and the files that it depends on."""
    command = host.compile_header(request, header, Path(_OBJECT), _HERE)
    key = KeyBuilder("parts of kernels").add("toolchain", *host.identity(request, context.cache))
    work = partial(_compile, command, context)
    entry = context.cache.fetch(key.add("command", *command.argv).key(), work, about=command.about)
    return entry.path / _OBJECT, context.cache.inputs(entry, {})


def _compile(command: Command, context: BuildContext, folder: Path) -> Dependencies:
    outcome = context.run(command, folder, folder)
    if outcome.failed or not (folder / _OBJECT).is_file():
        raise ToolchainError(f"{command.about} failed:\n{outcome.stderr}")
    return Dependencies(tuple(files_read(folder / f"{_OBJECT}.d", folder, [folder])))
