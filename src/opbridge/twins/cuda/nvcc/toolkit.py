"""The folder that replaces an installed CUDA, for CUDA_HOME, CMAKE_CUDA_COMPILER and find_package(CUDAToolkit).

It contains bin/nvcc, bin/nvrtc, include/, lib64/libcudart.so (the twin), lib64/libcublas.so, lib64/stubs/ and
version.json.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from opbridge.build.cache import Cache
from opbridge.build.toolchains import stamped_folder
from opbridge.twins import cuda
from opbridge.twins.cuda import toolchain as cuda_twin
from opbridge.twins.cuda.missing_headers import HEADERS
from opbridge.twins.cuda.nvcc.stubs import stub

INCLUDE = cuda.INCLUDE

_VERSION = re.search(r"#define CUDART_VERSION (\d+)", (INCLUDE / "cuda_runtime_api.h").read_text())
_NUMBER = int(_VERSION[1]) if _VERSION else 0
RELEASE = f"{_NUMBER // 1000}.{_NUMBER % 1000 // 10}"
"""The CUDA release that the headers declare."""

LIBRARIES = ("cudart", "cudart_static", "cudadevrt", "cuda", "nvidia-ml")
"""Libraries that programs link and that are part of the twin's library, or not needed without a GPU."""

_AS_LINKED = "INPUT({} AS_NEEDED(-lstdc++))\n"
"""The linker script for each of these libraries.

It adds libstdc++, of which the twin's objects need a little: a C compiler may link the program, and it adds none."""

NAMES_OF_LIBRARIES = {
    "cublas": ("cublas", "cublas_static", "cublasLt", "cublasLt_static"),
    "cudnn": ("cudnn", "cudnn_static"),
    "cufft": ("cufft", "cufft_static", "cufft_static_nocallback"),
    "curand": ("curand", "curand_static"),
    "cusolver": ("cusolver", "cusolver_static"),
    "cusparse": ("cusparse", "cusparse_static"),
    "nvrtc": ("nvrtc", "nvrtc_static", "nvrtc-builtins", "nvrtc-builtins_static"),
}
"""The NVIDIA libraries in the twin: the folder of their sources, and the names by which programs link them."""


def library_of(name: str) -> str:
    """Return the common name of a library that the twin lacks; empty for every other library."""
    if any(name in names for names in NAMES_OF_LIBRARIES.values()):
        return ""
    plain = name.removesuffix("_static")
    return next((feature for feature, pattern in HEADERS.items() if re.fullmatch(pattern, f"{plain}.h")), "")


def write(folder: Path) -> Path:
    """Write the folder or update it, and return its absolute path.

    Raises:
        InputError: The folder exists and was not written by this function.
    """
    home = Path(os.path.abspath(folder))
    stamped_folder.stamp_of(home)  # fail before building anything if the folder cannot be written
    with Cache().step("preparing the CUDA twin, once (a wheel from `make dist` includes it)"):
        runtime = cuda_twin.runtime()
        others = {name: cuda_twin.library(name, runtime) for name in NAMES_OF_LIBRARIES}
    return stamped_folder.write(home, _stamp(runtime, others), lambda new: _fill(new, home, runtime, others))


def _script(file: Path, code: str) -> None:
    # Isolated, because the project's folder is the current one and may contain modules named like Python's own.
    begin = f"import sys; sys.path.append({str(INCLUDE.parents[3])!r}); "
    file.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -c "{begin}{code}" "$@"\n')
    file.chmod(0o755)


def _stamp(runtime: Path, others: Mapping[str, Path]) -> str:
    libraries = [(str(library), library.stat().st_ino) for library in (runtime, *others.values())]
    parts = (libraries, sys.executable, str(INCLUDE), RELEASE, _AS_LINKED)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _fill(new: Path, home: Path, runtime: Path, others: Mapping[str, Path]) -> None:
    (new / "bin").mkdir()
    _script(new / "bin" / "nvcc", "from opbridge.cli import main; sys.exit(main(['twin', 'nvcc', *sys.argv[1:]]))")
    nvrtc = "from opbridge.twins.cuda.nvcc.nvrtc import main; from pathlib import Path; "
    _script(new / "bin" / "nvrtc", f"{nvrtc}sys.exit(main(Path({str(home)!r})))")
    (new / "include").symlink_to(INCLUDE)
    (new / "lib64").mkdir()
    stamped_folder.add_library(runtime, new / "lib64" / cuda.LIBRARY)
    for name, made in others.items():
        stamped_folder.add_library(made, new / "lib64" / made.name)
        for linked in NAMES_OF_LIBRARIES[name]:
            (new / "lib64" / f"lib{linked}.so").symlink_to(made.name)
    for name in LIBRARIES:
        (new / "lib64" / f"lib{name}.so").write_text(_AS_LINKED.format(home / "lib64" / "stubs" / cuda.LIBRARY))
    stubs = new / "lib64" / "stubs"
    stubs.mkdir()
    (stubs / cuda.LIBRARY).write_bytes(stub(runtime, home / "lib64" / cuda.LIBRARY))
    for name in LIBRARIES:
        (stubs / f"lib{name}.so").symlink_to(cuda.LIBRARY)
    (new / "lib").symlink_to("lib64")
    # CMake recognizes a toolkit by this folder.
    (new / "nvvm" / "libdevice").mkdir(parents=True)
    described = {"cuda": {"name": "CUDA SDK", "version": f"{RELEASE}.0"}}
    (new / "version.json").write_text(json.dumps(described))
