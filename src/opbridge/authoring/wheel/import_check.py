"""Check that a new wheel can be imported, before it is published."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from opbridge.authoring.wheel.installed import KERNELS
from opbridge.base.errors import BuildError
from opbridge.build.cache import Cache

_IMPORT = """
import importlib, pathlib, sys
from opbridge.base.errors import OpbridgeError
from opbridge.waist.manifest import Manifest
folder, package, kernels = sys.argv[1:]
sys.path.insert(0, folder)
try:
    importlib.import_module(package)
    # Importing it reads the one that suits this processor.
    for manifest in sorted(pathlib.Path(folder, package, kernels).glob("*.yaml")):
        Manifest.load(manifest)
except OpbridgeError as error:
    sys.exit(f"{error}")
"""


def import_wheel(wheel: Path, package: str, cache: Cache) -> None:
    """Raise BuildError if the package of the wheel does not import in a fresh process, or has a damaged manifest."""
    with tempfile.TemporaryDirectory(prefix="opbridge-wheel-") as folder:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        import_package(Path(folder), package, cache)


def import_package(folder: Path, package: str, cache: Cache) -> None:
    """Raise BuildError if the package in `folder` does not import in a fresh process, or has a damaged manifest."""
    # The process must find this opbridge, whatever put it on the path here.
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    tried = subprocess.run(
        [sys.executable, "-c", _IMPORT, str(folder), package, KERNELS],
        env={**os.environ, "PYTHONPATH": path, "OPBRIDGE_CACHE_DIR": str(cache.root), "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    if tried.returncode:
        said = tried.stderr.strip() or f"Python ended with {tried.returncode}"
        raise BuildError(f"no wheel was made, because {package} would not import from it:\n{said}")
