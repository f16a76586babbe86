"""Writes what connects opbridge with the frameworks of the Python that runs this into a folder of opbridge's wheel.

ENVIRONMENT/bin/python tools/ship_modules.py FOLDER
"""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from opbridge.build.toolchains import build
from opbridge.build.toolchains.torch_install import TorchInstall
from opbridge.frameworks.native_modules import name_of_brought


def ship(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if (install := TorchInstall.at_hand()) is not None:
        _ship_for_torch(install, folder)
    if find_spec("jax"):
        _ship_for_jax(folder)


def _ship_for_torch(install: TorchInstall, folder: Path) -> None:
    from opbridge.frameworks.torch import native
    from opbridge.twins.ascend.device_for_torch import DEVICE as NPU
    from opbridge.twins.cuda.device_for_torch import DEVICE as CUDA

    shutil.copy(native.build_adapter(install), folder / native.prebuilt_name(install, native.current_suffix()))
    for device in (NPU, CUDA):
        content = build(device.request()).path.read_bytes()
        # PyTorch is in the process before it; where it lay on this machine is nowhere to look for libraries.
        lib = str(install.lib).encode()
        name = name_of_brought(device.module, "torch", install.public_version)
        (folder / name).write_bytes(content.replace(lib, b"$ORIGIN".ljust(len(lib), b"\0")))


def _ship_for_jax(folder: Path) -> None:
    import jaxlib

    from opbridge.frameworks.jax import handler

    name = name_of_brought(handler.NAME, "jaxlib", jaxlib.__version__)
    shutil.copy(build(handler.request()).path, folder / name)


if __name__ == "__main__":
    ship(Path(sys.argv[1]))
