"""What CMake runs in the folder that `opbridge twin cann` writes: kernels are declared to their hosts when a project is
configured, and compiled when it is built."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from opbridge.errors import InputError
from opbridge.twins.ascend import LANGUAGE
from opbridge.twins.ascend.compiling import compile_source, translate
from opbridge.twins.common.complaints import complain

# The project's own options come later and win.
_DEFAULTS = ("-O2", "-g")


def main(arguments: Sequence[str]) -> int:
    """COMMAND ARGUMENT..."""
    return {"declare": _declare, "launch": _launch}[arguments[0]](arguments[1:])


def _declare(arguments: Sequence[str]) -> int:
    """FOLDER SOURCE...: writes an aclrtlaunch_k.h for each kernel."""
    folder, *sources = map(Path, arguments)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for source in sources:
            translate(source, folder / "rewritten", (), headers=folder)
    except InputError as error:
        complain(error)
        return 1
    return 0


def _launch(arguments: Sequence[str]) -> int:
    """COMPILER... -c SOURCE ...: a command of CMake's, whose source is Ascend C."""
    command = list(arguments)
    at = command.index("-c")
    source = Path(command[at + 1])
    del command[at : at + 2]
    target = Path(command[command.index("-o") + 1])
    depfile = Path(command[command.index("-MF") + 1]) if "-MF" in command else None
    compiler = [command[0], *_DEFAULTS, *LANGUAGE, *command[1:]]
    return compile_source(source, target.with_suffix(".rewritten"), depfile, compiler)
