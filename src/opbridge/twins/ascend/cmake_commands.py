"""The commands that CMake runs in the folder that `opbridge twin cann` writes.

Configuring a project declares its kernels to their hosts; building it compiles them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from opbridge.base.errors import InputError
from opbridge.twins.ascend import LANGUAGE
from opbridge.twins.ascend.compiler_command import compile_source, translate
from opbridge.twins.common.compiler_messages import complain

# The project's own options come later and win.
_DEFAULTS = ("-O2", "-g")


def main(arguments: Sequence[str]) -> int:
    """Run the command line COMMAND ARGUMENT... and return its exit status."""
    return {"declare": _declare, "launch": _launch}[arguments[0]](arguments[1:])


def _declare(arguments: Sequence[str]) -> int:
    """Write an aclrtlaunch_k.h for each kernel, given COMPILER... -- FOLDER SOURCE..."""
    division = arguments.index("--")
    compiler = arguments[:division]
    folder, *sources = map(Path, arguments[division + 1 :])
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for source in sources:
            translate(source, folder / "rewritten", (), headers=folder, compiler=compiler)
    except InputError as error:
        complain(error)
        return 1
    return 0


def _launch(arguments: Sequence[str]) -> int:
    """Compile an Ascend C source, given COMPILER... -c SOURCE ... as CMake writes it."""
    command = list(arguments)
    at = command.index("-c")
    source = Path(command[at + 1])
    del command[at : at + 2]
    target = Path(command[command.index("-o") + 1])
    depfile = Path(command[command.index("-MF") + 1]) if "-MF" in command else None
    compiler = [command[0], *_DEFAULTS, *LANGUAGE, *command[1:]]
    return compile_source(source, target.with_suffix(".rewritten"), depfile, compiler)
