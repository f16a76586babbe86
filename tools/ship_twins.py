"""Writes the twins' libraries into a folder of opbridge's wheel, as its build asks.

python tools/ship_twins.py FOLDER

They are compiled for it, but for those that are in a cache which OPBRIDGE_CACHE_DIR names.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from opbridge.build.toolchains.builder import build_many
from opbridge.build.toolchains.interface import BuildRequest
from opbridge.twins.ascend import toolchain as ascend_twin
from opbridge.twins.cuda import toolchain as cuda_twin
from opbridge.twins.cuda.nvcc.toolkit import NAMES_OF_LIBRARIES


def ship(folder: Path) -> None:
    runtime, *others = build_many(
        [cuda_twin.runtime_request(), cuda_twin.profile_runtime_request(), ascend_twin.runtime_request()]
    )
    of_nvidia = [_found_beside(cuda_twin.library_request(name), runtime.path) for name in sorted(NAMES_OF_LIBRARIES)]
    folder.mkdir(parents=True, exist_ok=True)
    for library in (runtime, *others, *build_many(of_nvidia)):
        shutil.copy(library.path, folder)


def _found_beside(request: BuildRequest, runtime: Path) -> BuildRequest:
    """The request of a library that looks for the runtime in its own folder, wherever that may be one day."""
    elsewhere = f"-Wl,-rpath,{runtime.parent}"
    return replace(request, link_flags=tuple(flag for flag in request.link_flags if flag != elsewhere))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as cache:
        os.environ.setdefault("OPBRIDGE_CACHE_DIR", cache)
        ship(Path(sys.argv[1]))
