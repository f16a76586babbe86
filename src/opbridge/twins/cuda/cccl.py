"""Thrust, CUB and libcu++ (CCCL) as they are installed, with those of their headers rewritten that hold device code."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from opbridge.twins.cuda.rewriting import Unit, rewrite

PACKAGES = {"nvidia-cuda-cccl-cu12": "nvidia/cuda_cccl/include"}
"""What is installed from, and where the headers are below the folder of installed packages."""

MARK = "-DOPBRIDGE_TWIN_CCCL=1"
"""What says to whoever compiles that they are there."""

_CUDA = re.compile(r"<<<|__shared__|\basm\b|_KERNEL_ATTRIBUTES|__global__|\bNV_(?:IF|DISPATCH)_|\b__CUDA_ARCH__\b")
_KERNEL_WORDS = frozenset(
    {"CCCL_DETAIL_KERNEL_ATTRIBUTES", "CUB_DETAIL_KERNEL_ATTRIBUTES", "THRUST_DETAIL_KERNEL_ATTRIBUTES"}
)
_DEVICE_WORDS = frozenset({"_CCCL_DEVICE", "_CCCL_HOST_DEVICE", *_KERNEL_WORDS})
_HOST_WORDS = frozenset({"_CCCL_HOST", "_CCCL_HOST_DEVICE", "CUB_RUNTIME_FUNCTION", "THRUST_RUNTIME_FUNCTION"})


def find() -> Path | None:
    """The folder of the headers, where a package has brought them."""
    for folder in sys.path:
        for place in PACKAGES.values():
            if (headers := Path(folder, place)).is_dir():
                return headers
    return None


def write(headers: Path, folder: Path) -> None:
    """Those that the compiler is to find before the installed ones of the same names."""
    for file in sorted(path for path in headers.rglob("*") if path.is_file()):
        name = file.relative_to(headers).as_posix()
        if name.startswith("nv/"):  # what tells the host's code from the device's
            continue
        text = file.read_text(encoding="utf-8", errors="surrogateescape")
        if not _CUDA.search(text):
            continue
        unit = Unit(is_library=True, has_cccl=True)
        unit.kernel_words |= _KERNEL_WORDS
        unit.device_words |= _DEVICE_WORDS
        unit.host_words |= _HOST_WORDS
        code = f'#line 1 "{file}"\n{rewrite(text, str(file), unit)}'
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(code, encoding="utf-8", errors="surrogateescape")
