"""Write a folder that Ascend C projects accept as an installed CANN: they build with the host compiler and the twin.

It contains the files that such projects look for by name: `ascendc_library` for CMake, the headers,
libascendcl, and scripts that set the environment. The names follow public documents and permissively licensed
projects. No file is part of CANN.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from opbridge.base.errors import ToolchainError
from opbridge.build.toolchains import host, stamped_folder
from opbridge.build.toolchains.interface import INCLUDE
from opbridge.twins import ascend
from opbridge.twins.ascend import toolchain as ascend_twin

_DRIVER = "bin/opbridge-ascendc.py"
_COMPILER = "bin/bisheng"
_DEVICES = "bin/npu-smi"

_CMAKE = Path(ascend.__file__).with_name("cann")
_HEADERS = {"include": ascend.INCLUDE, "include/opbridge": INCLUDE / "opbridge"}
_KERNEL_CMAKE = ("compiler/tikcpp/ascendc_kernel_cmake", "tools/tikcpp/ascendc_kernel_cmake")
_ASC_CMAKE = "cmake/ASC"
_CPU_CMAKE = "tools/tikicpulib/lib/cmake/tikicpulib"
_LIBRARIES = (
    *("ascendcl", "nnopbase", "runtime", "ascendc_runtime", "profapi", "platform", "register", "tiling_api", "c_sec"),
)
"""The names that host programs link; one twin library provides the functions of all of them."""


def write(folder: Path) -> Path:
    """Write the folder or update it, and return its absolute path.

    Raises:
        InputError: The folder exists and was not written by this function.
    """
    home = Path(os.path.abspath(folder))
    stamped_folder.stamp_of(home)  # fail before building anything if the folder cannot be written
    texts, library = _texts(home), ascend_twin.runtime()
    return stamped_folder.write(home, _stamp(texts, library), lambda new: _fill(new, texts, library))


def _stamp(texts: Mapping[str, str], library: Path) -> str:
    headers = sorted(path for folder in _HEADERS.values() for path in folder.rglob("*") if path.is_file())
    digest = hashlib.sha256(repr((texts, str(library), library.stat().st_ino)).encode())
    for header in headers:
        digest.update(hashlib.sha256(header.read_bytes()).digest())
    return f"opbridge twin cann {digest.hexdigest()}\n"


def _fill(new: Path, texts: Mapping[str, str], library: Path) -> None:
    for path, text in texts.items():
        (new / path).parent.mkdir(parents=True, exist_ok=True)
        (new / path).write_text(text, encoding="utf-8")
    for command in (_COMPILER, _DEVICES):
        (new / command).chmod(0o755)
    # Copy the headers: they must keep matching the library in this folder when opbridge changes.
    for name, folder in _HEADERS.items():
        shutil.copytree(folder, new / name, dirs_exist_ok=True)
    (new / "lib64").mkdir()
    stamped_folder.add_library(library, new / "lib64" / ascend.LIBRARY)
    for name in _LIBRARIES:
        (new / "lib64" / f"lib{name}.so").symlink_to(ascend.LIBRARY)


def _texts(home: Path) -> dict[str, str]:
    library = (_CMAKE / "ascendc.cmake").read_text(encoding="utf-8")
    settings = _settings(home)
    texts = {
        _DRIVER: _driver(),
        _COMPILER: _compiler(home),
        _DEVICES: _script((*_command(home), "npu_smi_command")),
        "set_env.sh": _environment(home),
        "bin/setenv.bash": _environment(home),
    }
    for place in _KERNEL_CMAKE:
        texts |= {f"{place}/ascendc.cmake": library, f"{place}/opbridge.cmake": settings}
    texts |= {f"{_ASC_CMAKE}/{file.name}": file.read_text(encoding="utf-8") for file in (_CMAKE / "asc").iterdir()}
    texts[f"{_CPU_CMAKE}/tikicpulib-config.cmake"] = (_CMAKE / "tikicpulib-config.cmake").read_text(encoding="utf-8")
    return texts


def _settings(home: Path) -> str:
    settings = {
        "HOME": (str(home),),
        "LIBRARY": (str(home / "lib64" / ascend.LIBRARY),),
        "FLAGS": ascend.LANGUAGE,
        "DECLARE": (*_command(home), "cmake_commands", "declare", *_preprocessor(), "--"),
        "COMPILE": (*_command(home), "cmake_commands", "launch"),
    }
    return "".join(f"set(OPBRIDGE_ASCEND_{name} {_quoted(words)})\n" for name, words in settings.items())


def _quoted(words: Iterable[str]) -> str:
    return " ".join(f"[==[{word}]==]" for word in words)


def _command(home: Path) -> tuple[str, ...]:
    # Isolated, because the project's folder is the current one and may contain modules named like Python's own.
    return sys.executable, "-I", str(home / _DRIVER)


def _driver() -> str:
    return (
        "import importlib\nimport sys\n\n"
        f"sys.path.append({str(Path(ascend.__file__).parents[3])!r})\n"
        'sys.exit(importlib.import_module(f"opbridge.twins.ascend.{sys.argv[1]}").main(sys.argv[2:]))\n'
    )


def _compiler(home: Path) -> str:
    try:
        host_compiler = host.find()
    except ToolchainError as error:  # programs that compile nothing run all the same
        return f"#!/bin/sh\necho {shlex.quote(f'error: {error}')} >&2\nexit 127\n"
    words = (*_command(home), "bisheng_command", str(home / "lib64" / ascend.LIBRARY), *host_compiler, "--")
    return _script(words)


def _script(words: Iterable[str]) -> str:
    return f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'


def _preprocessor() -> tuple[str, ...]:
    try:
        return host.find()
    except ToolchainError:  # CMake reports that there is no compiler
        return ("c++",)


def _environment(home: Path) -> str:
    return (
        "# Source this, as the script of the same name in an installed CANN.\n"
        f'export ASCEND_HOME_PATH="{home}"\n'
        'export ASCEND_TOOLKIT_HOME="$ASCEND_HOME_PATH"\n'
        'export ASCEND_OPP_PATH="$ASCEND_HOME_PATH/opp"\n'
        'export CMAKE_PREFIX_PATH="$ASCEND_HOME_PATH/cmake:$ASCEND_HOME_PATH/tools/tikicpulib/lib/cmake'
        '${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}"\n'
        'export PATH="$ASCEND_HOME_PATH/bin:$PATH"\n'
        'export LD_LIBRARY_PATH="$ASCEND_HOME_PATH/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"\n'
    )
