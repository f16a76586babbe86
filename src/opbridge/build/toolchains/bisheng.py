"""CANN's Ascend C compiler, bisheng: from ASCEND_HOME_PATH, else from PATH.

This module has never run: no machine with CANN was available. The commands follow the public reference and
build one library for the architecture of the chip that OPBRIDGE_ASCEND_SOC names.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from opbridge.base import floating_point
from opbridge.base.errors import ToolchainError
from opbridge.build.cache import Cache
from opbridge.build.toolchains import host, stamped_folder
from opbridge.build.toolchains.interface import BuildRequest, Command, Commands
from opbridge.build.toolchains.machine_identity import compiler, environment

name = "Ascend C"
macros, companions = host.macros, host.companions
sources_for_torch, as_edited = host.sources_for_torch, host.as_edited
suffixes = (".asc", *host.suffixes)

SOC = "OPBRIDGE_ASCEND_SOC"
"""The environment variable that names the chip; the twin reads it too."""

_DEFAULT_SOC = "Ascend910B"
_ARCHITECTURES = {
    "Ascend910B": "dav-2201",
    "Ascend910_93": "dav-2201",
    "Ascend310P": "dav-2002",
    "Ascend950": "dav-3510",
}
_HOMES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
_PLACES = ("bin", "compiler/ccec_compiler/bin", "tools/bisheng_compiler/bin")


def find() -> tuple[str, ...]:
    """Return the command of bisheng from the CANN folder, else from PATH; skip folders written for the twin.

    Raises:
        ToolchainError: No bisheng was found.
    """
    named = [os.environ[variable] for variable in _HOMES if os.environ.get(variable)]
    # The twin's replacement for CANN also contains a `bisheng`, which compiles for the CPU.
    homes = [home for home in named if not Path(home, stamped_folder.MARK).is_file()]
    for candidate in (*(f"{home}/{place}/bisheng" for home in homes for place in _PLACES), "bisheng"):
        if executable := shutil.which(candidate):
            return (executable,)
    raise ToolchainError(
        "no compiler for Ascend C: expected bisheng of CANN below ASCEND_HOME_PATH, or on PATH\n"
        "  install CANN and source its set_env.sh, or run the kernels on the CPU: "
        'ob.load(..., device="ascend-twin"), or OPBRIDGE_ASCEND_TWIN=1 in the environment'
    )


def identity(request: BuildRequest, cache: Cache) -> tuple[str, ...]:
    """Return the compiler's version text, the CANN folder, and the variables that affect the compiler."""
    return (compiler(find(), cache), str(_home()), *host.files_of_flags(request), *environment())


def commands(request: BuildRequest, folder: Path) -> Commands:
    """Return the bisheng commands that compile each source for the chip's architecture and link the library."""
    scratch = folder / "scratch"
    home = _home()
    shared = (
        *("-x", "asc", f"--npu-arch={_architecture()}"),
        *("-O3", f"-std={request.standard}", "-fPIC", "-fvisibility-inlines-hidden", "-Wno-c++11-narrowing"),
        *floating_point.FLAGS,
        "-fdiagnostics-color=never",
        *(f"-fmacro-prefix-map={path}/=" for path in (request.project, *request.include_dirs)),
        *(f"-I{path}" for path in (*request.include_dirs, home / "include")),
        *(f"-D{macro}={value}" if value else f"-D{macro}" for macro, value in request.defines),
    )
    link = (
        *(*find(), "-shared", "-fPIC", f"--npu-arch={_architecture()}"),
        *host.own_symbols(scratch),
        *("-o", str(folder / request.output), *host.objects_of(request, scratch)),
        *(f"-L{home / 'lib64'}", "-lascendcl", *request.link_flags),
    )
    driver = (*find(), *shared)
    return host.commands_of(request, scratch, lambda source: (*driver, *request.flags_for(source)), link)


def precompile(request: BuildRequest, header: Path, target: Path) -> Command | None:
    """Return None: bisheng precompiles no headers."""
    return None


def _home() -> Path:
    """Return the CANN folder, from the environment variables, else derived from the compiler's path."""
    named = next((os.environ[variable] for variable in _HOMES if os.environ.get(variable)), None)
    if named is not None:
        return Path(named)
    folder = Path(os.path.realpath(find()[0])).parent
    place = next((place for place in _PLACES if folder.match(f"*/{place}")), "bin")
    return folder.parents[place.count("/")]


def _architecture() -> str:
    chip = os.environ.get(SOC) or _DEFAULT_SOC
    known = max((name for name in _ARCHITECTURES if chip.startswith(name)), key=len, default=None)
    if known is None:
        raise ToolchainError(
            f"{SOC} names {chip!r}, which opbridge knows no architecture of; expected {', '.join(_ARCHITECTURES)}"
        )
    return _ARCHITECTURES[known]
