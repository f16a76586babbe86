"""Compile the PyTorch adapter against the headers of every supported PyTorch: `make torch-versions [VERSIONS...]`.

Only the headers are kept, in build/torch-headers; a wheel is fetched once with pip and thrown away.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from torch_releases import RELEASES

from opbridge.base.errors import OpbridgeError
from opbridge.build.cache import Cache
from opbridge.build.toolchains.torch_install import TorchInstall
from opbridge.frameworks.torch.native import build_adapter

HEADERS = Path(__file__).parents[1] / "build" / "torch-headers"


def headers(version: str) -> Path:
    """Return a folder that replaces an installed torch package."""
    folder = HEADERS / version
    if (folder / "torch" / "include").is_dir():
        return folder / "torch"
    with tempfile.TemporaryDirectory() as download:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
            "-d",
            download,
        ]
        subprocess.run([*command, f"torch=={version}"], check=True)
        (wheel,) = Path(download).glob("*.whl")
        unpacked = Path(tempfile.mkdtemp(dir=HEADERS))
        with zipfile.ZipFile(wheel) as archive:
            wanted = [name for name in archive.namelist() if name.startswith("torch/include/")]
            archive.extractall(unpacked, wanted)
    unpacked.rename(folder)
    return folder / "torch"


def main(versions: list[str]) -> int:
    HEADERS.mkdir(parents=True, exist_ok=True)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(Path(folder) / "cache")
        for version in versions:
            started = time.perf_counter()
            try:
                build_adapter(TorchInstall(headers(version), version, ""), cache, libraries=False)
                said = "compiles"
            except (OpbridgeError, subprocess.CalledProcessError) as error:
                failed += 1
                said = f"FAILS\n{error}"
            print(f"PyTorch {version:8} {time.perf_counter() - started:6.1f} s  {said}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(RELEASES)))
