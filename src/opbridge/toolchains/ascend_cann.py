"""A folder that projects of Ascend C take for an installed CANN: they build with the host's compiler and the twin.

It holds what such projects look for by name, as the public documents and permissively licensed projects show it, and
nothing of CANN's: CMake's `ascendc_library`, the headers, libascendcl, and scripts that set the environment.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from opbridge.errors import InputError
from opbridge.filesystem import copy_atomically
from opbridge.toolchains import ascend_twin
from opbridge.toolchains.model import INCLUDE
from opbridge.twins import ascend

_MARK = "opbridge-twin"
"""The file that says whose folder this is."""

_DRIVER = "bin/opbridge-ascendc.py"

_CMAKE = Path(ascend.__file__).with_name("cann")
_KERNEL_CMAKE = ("compiler/tikcpp/ascendc_kernel_cmake", "tools/tikcpp/ascendc_kernel_cmake")
_CPU_CMAKE = "tools/tikicpulib/lib/cmake/tikicpulib"
_LIBRARIES = ("ascendcl", "runtime", "platform", "register", "tiling_api", "c_sec")
"""The names that hosts link; the twin's library has what it has of all of them."""


def write(folder: Path) -> Path:
    """Writes the folder, or brings it up to date, and returns its absolute path."""
    home = Path(os.path.abspath(folder))
    if home.exists() and not (home / _MARK).is_file() and (not home.is_dir() or any(home.iterdir())):
        raise InputError(f"{home} is there already, and not of this command's making", hint="name a new folder")
    for path, text in _texts(home).items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text, encoding="utf-8")
    _copy_headers(home / "include")
    (home / "lib64").mkdir(exist_ok=True)
    copy_atomically(ascend_twin.runtime(), home / "lib64" / ascend.LIBRARY)
    for name in _LIBRARIES:
        _link(home / "lib64" / f"lib{name}.so", Path(ascend.LIBRARY))
    return home


def _texts(home: Path) -> dict[str, str]:
    library = (_CMAKE / "ascendc.cmake").read_text(encoding="utf-8")
    settings = _settings(home)
    texts = {
        _MARK: "opbridge twin cann\n",
        _DRIVER: _driver(),
        "set_env.sh": _environment(home),
        "bin/setenv.bash": _environment(home),
    }
    for place in _KERNEL_CMAKE:
        texts |= {f"{place}/ascendc.cmake": library, f"{place}/opbridge.cmake": settings}
    texts[f"{_CPU_CMAKE}/tikicpulib-config.cmake"] = (_CMAKE / "tikicpulib-config.cmake").read_text(encoding="utf-8")
    return texts


def _settings(home: Path) -> str:
    # Isolated, because the project's folder is the current one and may hold modules named like Python's own.
    python = (sys.executable, "-I", str(home / _DRIVER))
    settings = {
        "HOME": (str(home),),
        "LIBRARY": (str(home / "lib64" / ascend.LIBRARY),),
        "FLAGS": ascend.LANGUAGE,
        "DECLARE": (*python, "declare"),
        "COMPILE": (*python, "launch"),
    }
    return "".join(f"set(OPBRIDGE_ASCEND_{name} {_quoted(words)})\n" for name, words in settings.items())


def _quoted(words: Iterable[str]) -> str:
    return " ".join(f"[==[{word}]==]" for word in words)


def _driver() -> str:
    return (
        "import sys\n\n"
        f"sys.path.append({str(Path(ascend.__file__).parents[3])!r})\n"
        "from opbridge.twins.ascend import launcher\n\n"
        "sys.exit(getattr(launcher, sys.argv[1])(sys.argv[2:]))\n"
    )


def _environment(home: Path) -> str:
    return (
        "# Source this, as the script of the same name in an installed CANN.\n"
        f'export ASCEND_HOME_PATH="{home}"\n'
        'export ASCEND_TOOLKIT_HOME="$ASCEND_HOME_PATH"\n'
        'export ASCEND_OPP_PATH="$ASCEND_HOME_PATH/opp"\n'
        'export LD_LIBRARY_PATH="$ASCEND_HOME_PATH/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"\n'
    )


def _copy_headers(include: Path) -> None:
    # Copies, which stay what the library beside them was built with when opbridge changes.
    shutil.rmtree(include, ignore_errors=True)
    shutil.copytree(ascend.INCLUDE, include)
    shutil.copytree(INCLUDE / "opbridge", include / "opbridge")


def _link(link: Path, target: Path) -> None:
    link.unlink(missing_ok=True)
    link.symlink_to(target)
