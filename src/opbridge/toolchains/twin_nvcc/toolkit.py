"""The folder that stands for an installed CUDA: for CUDA_HOME, CMAKE_CUDA_COMPILER and find_package(CUDAToolkit).

bin/nvcc      include/      lib64/libcudart.so (the twin)      version.json
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from pathlib import Path

from opbridge.toolchains import cuda_twin, stamped_folder
from opbridge.twins import cuda
from opbridge.twins.cuda.refused import HEADERS

INCLUDE = cuda.INCLUDE

_VERSION = re.search(r"#define CUDART_VERSION (\d+)", (INCLUDE / "cuda_runtime_api.h").read_text())
_NUMBER = int(_VERSION[1]) if _VERSION else 0
RELEASE = f"{_NUMBER // 1000}.{_NUMBER % 1000 // 10}"
"""Of CUDA, which the headers say that they are."""

LIBRARIES = ("cudart", "cudart_static", "cudadevrt", "cuda", "nvidia-ml")
"""What programs link that is in the twin's library, or that a processor needs nothing of."""


def library_of(name: str) -> str:
    """What a library that the twin lacks is called by people; empty for every other name."""
    plain = name.removesuffix("_static").removesuffix("Lt")
    return next((feature for feature, pattern in HEADERS.items() if re.fullmatch(pattern, f"{plain}.h")), "")


def write(folder: Path) -> Path:
    """Writes the folder, or brings it up to date, and returns its absolute path."""
    home = Path(os.path.abspath(folder))
    stamped_folder.stamp_of(home)  # before anything is built for what cannot be written
    library = cuda_twin.runtime()
    return stamped_folder.write(home, _stamp(library), lambda new: _fill(new, library))


def _stamp(library: Path) -> str:
    return hashlib.sha256(repr((str(library), sys.executable, str(INCLUDE), RELEASE)).encode()).hexdigest()


def _fill(new: Path, library: Path) -> None:
    (new / "bin").mkdir()
    script = new / "bin" / "nvcc"
    # Isolated, because the project's folder is the current one and may hold modules named like Python's own.
    code = (
        f"import sys; sys.path.append({str(INCLUDE.parents[3])!r}); from opbridge.cli import main; "
        "sys.exit(main(['twin', 'nvcc', *sys.argv[1:]]))"
    )
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -c "{code}" "$@"\n')
    script.chmod(0o755)
    (new / "include").symlink_to(INCLUDE)
    (new / "lib64").mkdir()
    shutil.copyfile(library, new / "lib64" / cuda.LIBRARY)
    for name in LIBRARIES:
        (new / "lib64" / f"lib{name}.so").symlink_to(cuda.LIBRARY)
    (new / "lib").symlink_to("lib64")
    # CMake takes a folder for a toolkit where this one is in it.
    (new / "nvvm" / "libdevice").mkdir(parents=True)
    described = {"cuda": {"name": "CUDA SDK", "version": f"{RELEASE}.0"}}
    (new / "version.json").write_text(json.dumps(described))
