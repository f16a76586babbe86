"""The stand-in for torch_npu: a package that comes first on the path of a process, and the variables that go with it.

PyTorch looks among the installed packages for device backends.  The stand-in claims to be torch_npu, so that an
installed one is not loaded, and provides the `cuda` of the CUDA twin.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from opbridge.build.cache import Cache, Dependencies, KeyBuilder
from opbridge.build.toolchains.torch_install import TorchInstall

PACKAGE = "torch_npu"
_SOURCES = Path(__file__).with_name("torch_device") / "stand_in"

_ENTRY_POINTS = "[torch.backends]\nopbridge_cuda = opbridge.cli.autoload:cuda\n"

_TRY = "import torch, torch_npu, sys; sys.exit(0 if torch.npu.is_available() else 1)"


def real_one_works() -> bool:
    """Return whether torch_npu is installed and finds devices.

    The attempt runs in a separate process, because it may crash.
    """
    if importlib.util.find_spec("torch_npu") is None:
        return False
    return subprocess.run([sys.executable, "-c", _TRY], capture_output=True, stdin=subprocess.DEVNULL).returncode == 0


def folder() -> Path:
    """Return the cached folder to put on PYTHONPATH: the package, with `include` and `lib` like the real one."""
    files = sorted(path for path in (_SOURCES / PACKAGE).rglob("*") if path.suffix in (".py", ".h"))
    install = TorchInstall.found()
    script = _linker_script(install.lib)
    metadata = f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: {install.version.partition('+')[0]}+opbridge\n"
    key = KeyBuilder("torch_npu's stand-in").add("script", script).add("installed", metadata, _ENTRY_POINTS)
    for path in files:
        key.add("file", str(path.relative_to(_SOURCES)), path)

    def copy(to: Path) -> Dependencies:
        for path in files:
            target = to / path.relative_to(_SOURCES)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        (to / PACKAGE / "lib").mkdir()
        (to / PACKAGE / "lib" / f"lib{PACKAGE}.so").write_text(script, encoding="utf-8")
        installed = to / f"{PACKAGE}.dist-info"
        installed.mkdir()
        (installed / "METADATA").write_text(metadata, encoding="utf-8")
        (installed / "entry_points.txt").write_text(_ENTRY_POINTS, encoding="utf-8")
        return Dependencies()

    return Cache().fetch(key.key(), copy).path


def _linker_script(lib: Path) -> str:
    """Return a linker script to use as the library: everything else is in headers, so it links only PyTorch."""
    libraries = " ".join(f'"{lib / name}"' for name in ("libtorch_python.so", "libtorch_cpu.so", "libc10.so"))
    return f"/* A script that linkers read. */\nINPUT({libraries})\n"


def environment(given: Mapping[str, str], cann: Path) -> dict[str, str]:
    """Return the variables of a process that finds the stand-in, and `cann` as the installed CANN."""
    told = dict(given)
    stand_in = folder()
    told["PYTHONPATH"] = os.pathsep.join(filter(None, (str(stand_in), given.get("PYTHONPATH"))))
    told["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "1"
    told["TORCH_NPU_PATH"] = str(stand_in / PACKAGE)
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_INSTALL_PATH"):
        told[name] = str(cann)
    told["PATH"] = os.pathsep.join(filter(None, (str(cann / "bin"), given.get("PATH", os.defpath))))
    told["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, (str(cann / "lib64"), given.get("LD_LIBRARY_PATH"))))
    return told
